package issuer

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"testing"
	"time"
)

// TestIssue checks that a certificate is valid for the requested use, hosts, names and time, and for nothing else.
func TestIssue(t *testing.T) {
	ours, theirs := made(t, "ours"), made(t, "theirs")
	member, err := ours.Issue(Request{Name: "m1", Hosts: []string{"127.0.0.1", "db.example"}, URIs: []string{"urn:holdfast:member:m1"}, Member: true})
	if err != nil {
		t.Fatal(err)
	}
	client, err := ours.Issue(Request{Name: "job-7", NotAfter: time.Now().Add(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		what  string
		leaf  *x509.Certificate
		by    *Authority
		host  string
		usage x509.ExtKeyUsage
		in    time.Duration
		good  bool
	}{
		{"a member by its name", member.Leaf, ours, "m1", x509.ExtKeyUsageServerAuth, 0, true},
		{"a member by its host", member.Leaf, ours, "db.example", x509.ExtKeyUsageServerAuth, 0, true},
		{"a member by its address", member.Leaf, ours, "127.0.0.1", x509.ExtKeyUsageServerAuth, 0, true},
		{"a member as a client", member.Leaf, ours, "", x509.ExtKeyUsageClientAuth, 0, true},
		{"a member elsewhere", member.Leaf, ours, "127.0.0.2", x509.ExtKeyUsageServerAuth, 0, false},
		{"a stranger", member.Leaf, theirs, "m1", x509.ExtKeyUsageServerAuth, 0, false},
		{"a member tomorrow", member.Leaf, ours, "m1", x509.ExtKeyUsageServerAuth, 25 * time.Hour, false},
		{"a client", client.Leaf, ours, "job-7", x509.ExtKeyUsageClientAuth, 0, true},
		{"a client as a server", client.Leaf, ours, "job-7", x509.ExtKeyUsageServerAuth, 0, false},
		{"a client too late", client.Leaf, ours, "job-7", x509.ExtKeyUsageClientAuth, 2 * time.Minute, false},
	} {
		_, err := tt.leaf.Verify(x509.VerifyOptions{
			Roots: tt.by.Pool(), DNSName: tt.host, KeyUsages: []x509.ExtKeyUsage{tt.usage}, CurrentTime: time.Now().Add(tt.in),
		})
		if (err == nil) != tt.good {
			t.Errorf("%s: %v, want good %v", tt.what, err, tt.good)
		}
	}
	if _, err := ours.Issue(Request{Name: "m1", URIs: []string{"%"}}); err == nil {
		t.Error("a URI that is none was signed")
	}
}

// TestWrite checks that crypto/tls reads the written files, and that they can be replaced.
func TestWrite(t *testing.T) {
	folder, a := t.TempDir(), made(t, "ours")
	var before tls.Certificate
	for range 2 {
		c, err := a.Issue(Request{Name: "m1"})
		if err != nil {
			t.Fatal(err)
		}
		files, err := c.Write(folder, "m1")
		if err != nil {
			t.Fatal(err)
		}
		read, err := tls.LoadX509KeyPair(files.Cert, files.Key)
		if err != nil || !read.Leaf.Equal(c.TLS().Leaf) || read.Leaf.Equal(before.Leaf) {
			t.Fatalf("read %v, %v", read.Leaf, err)
		}
		before = read
	}
	path, err := a.Write(folder, "ours")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if pool := x509.NewCertPool(); err != nil || !pool.AppendCertsFromPEM(data) || !pool.Equal(a.Pool()) {
		t.Errorf("read %q, %v", data, err)
	}
	if _, err := a.Write(folder+"/nowhere", "ours"); err == nil {
		t.Error("it was written nowhere")
	}
}

func made(t *testing.T, name string) *Authority {
	t.Helper()
	a, err := New(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
