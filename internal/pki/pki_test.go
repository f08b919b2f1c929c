package pki_test

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/pki"
)

// leaf reads the certificate of a pair, which must match its key.
func leaf(t *testing.T, folder, name string) *x509.Certificate {
	t.Helper()
	both, err := tls.LoadX509KeyPair(pki.CertFile(folder, name), pki.KeyFile(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return both.Leaf
}

// verifies reports whether an authority of a folder vouches for a certificate and a usage.
func verifies(t *testing.T, folder, authority string, c *x509.Certificate, usage x509.ExtKeyUsage, host string) bool {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(leaf(t, folder, authority))
	_, err := c.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, KeyUsages: []x509.ExtKeyUsage{usage}})
	return err == nil
}

func TestInit(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a", "tls")
	now := time.Now()
	made, err := pki.Init(pki.Request{
		Folder: folder, Days: 30, Now: now, Clients: []string{"job-7"},
		Members: []pki.Member{{Name: "m1"}, {Name: "m2", Hosts: []string{"lock.example", "10.0.0.2"}}},
	})
	if err != nil || !slices.Equal(made, []string{"members", "clients", "m1", "m2", "job-7"}) {
		t.Fatalf("%v, %v", made, err)
	}
	server, client := x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth
	for _, tt := range []struct {
		authority, name string
		usage           x509.ExtKeyUsage
		host            string
		want            bool
	}{
		{"members", "m1", server, "localhost", true}, {"members", "m1", server, "127.0.0.1", true}, {"members", "m1", server, "::1", true},
		{"members", "m1", server, "m1", true}, {"members", "m1", client, "", true}, {"members", "m1", server, "lock.example", false},
		{"members", "m2", server, "lock.example", true}, {"members", "m2", server, "10.0.0.2", true}, {"members", "m2", server, "localhost", false},
		{"clients", "job-7", client, "", true}, {"clients", "job-7", server, "", false}, {"members", "job-7", client, "", false},
		{"clients", "m1", client, "", false},
	} {
		if got := verifies(t, folder, tt.authority, leaf(t, folder, tt.name), tt.usage, tt.host); got != tt.want {
			t.Errorf("%+v: %t", tt, got)
		}
	}
	if until := leaf(t, folder, "m1").NotAfter; until.Sub(now).Round(time.Hour) != 30*24*time.Hour {
		t.Errorf("it is valid until %v", until)
	}
	for name, want := range map[string]os.FileMode{"": 0o700, "m1-key.pem": 0o600, "members-key.pem": 0o600, "job-7-key.pem": 0o600} {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%q has mode %v, %v", name, info.Mode(), err)
		}
	}
}

// contents reads all files of a folder.
func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(data)
	}
	return all
}

// TestNothingIsOverwritten: a call that cannot make everything makes nothing, and one that can leaves the rest as it is.
func TestNothingIsOverwritten(t *testing.T) {
	folder := t.TempDir()
	first := pki.Request{Folder: folder, Days: 1, Now: time.Now(), Members: []pki.Member{{Name: "m1"}}, Clients: []string{"c1"}}
	if _, err := pki.Init(first); err != nil {
		t.Fatal(err)
	}
	before := contents(t, folder)
	for _, tt := range []struct {
		change func(*pki.Request)
		says   string
	}{
		{func(r *pki.Request) { r.Members = []pki.Member{{Name: "m2"}} }, "c1.pem exists"},
		{func(r *pki.Request) { r.Members, r.Clients = []pki.Member{{Name: "m2"}}, []string{"m1-key"} }, "m1-key.pem exists"},
		{func(r *pki.Request) { r.Members, r.Clients = []pki.Member{{Name: "x"}}, []string{"x"} }, `"x" is taken`},
		{func(r *pki.Request) { r.Members, r.Clients = nil, []string{"members"} }, `"members" is taken`},
		{func(r *pki.Request) { r.Members, r.Clients = nil, []string{"-x"} }, "no dash"},
		{func(r *pki.Request) { r.Members, r.Clients = nil, []string{""} }, "want 1 to 64"},
		{func(r *pki.Request) { r.Members, r.Clients = nil, []string{"a/b"} }, "want 1 to 64"},
		{func(r *pki.Request) { r.Members, r.Clients = []pki.Member{{Name: "m2", Hosts: []string{"a", ""}}}, nil }, "an empty host"},
		{func(r *pki.Request) { r.Members, r.Clients, r.Days = nil, []string{"c2"}, 40000 }, "want 1 to 36500"},
		{func(r *pki.Request) {
			r.Members, r.Clients, r.Now = nil, []string{"c2"}, time.Now().AddDate(20, 0, 0)
		}, "members.pem ends at"},
	} {
		r := first
		tt.change(&r)
		if made, err := pki.Init(r); err == nil || len(made) > 0 || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%+v: made %v, %v; want %q", r, made, err, tt.says)
		}
	}
	second := first
	second.Members, second.Clients = []pki.Member{{Name: "m2"}}, []string{"c2"}
	if made, err := pki.Init(second); err != nil || !slices.Equal(made, []string{"m2", "c2"}) {
		t.Fatalf("a second call: %v, %v", made, err)
	}
	after := contents(t, folder)
	for name, data := range before {
		if after[name] != data {
			t.Errorf("%s has changed", name)
		}
	}
	if !verifies(t, folder, "members", leaf(t, folder, "m2"), x509.ExtKeyUsageServerAuth, "localhost") {
		t.Error("the authority that was there has not signed m2")
	}
	if err := os.Chmod(pki.KeyFile(folder, "clients"), 0o644); err != nil {
		t.Fatal(err)
	}
	second.Members, second.Clients = nil, []string{"c3"}
	if _, err := pki.Init(second); err == nil || !strings.Contains(err.Error(), "its mode is 0644; run chmod 600") {
		t.Errorf("an authority's key that all can read: %v", err)
	}
}

// TestAtTheSameTime: of several calls for the same name one makes it, and its key and certificate are a pair.
func TestAtTheSameTime(t *testing.T) {
	folder := t.TempDir()
	if _, err := pki.Init(pki.Request{Folder: folder, Days: 1, Now: time.Now()}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	results := make(chan error, 8)
	for range cap(results) {
		wg.Go(func() {
			_, err := pki.Init(pki.Request{Folder: folder, Days: 1, Now: time.Now(), Clients: []string{"c1"}})
			results <- err
		})
	}
	wg.Wait()
	close(results)
	good := 0
	for err := range results {
		if err == nil {
			good++
		}
	}
	if good != 1 {
		t.Errorf("%d calls have made it", good)
	}
	leaf(t, folder, "c1")
}
