package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"maps"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/certificate"
	"github.com/holdfast-locks/holdfast/internal/test/issuer"
)

// files are the paths of a certificate and its key.
type files struct{ cert, key string }

// material writes a new certificate and its key.
func material(t testing.TB) files {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	encode := func(kind string, bytes []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}))
	}
	return files{write(t, "cert.pem", encode("CERTIFICATE", cert)), write(t, "key.pem", encode("PRIVATE KEY", private))}
}

func copied(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, "copy.pem", string(data))
}

// TestOpen reads the material that a configuration names, and asks clients for what it
// says.
func TestOpen(t *testing.T) {
	pem := material(t)
	for auth, want := range map[string]tls.ClientAuthType{
		"require": tls.RequireAndVerifyClientCert, "verify": tls.VerifyClientCertIfGiven, "none": tls.NoClientCert,
	} {
		store, err := TLS{Cert: pem.cert, Key: pem.key, CA: pem.cert, ClientAuth: auth}.Open(nil)
		if err != nil {
			t.Fatal(err)
		}
		if web := store.Web(); web.ClientAuth != want || len(web.Certificates) != 1 {
			t.Errorf("%s: %v", auth, web.ClientAuth)
		}
	}
	if got, err := (TLS{ClientAuth: "require"}).Open(nil); got != nil || err != nil {
		t.Errorf("without a certificate: %v, %v; want no TLS", got, err)
	}
	for _, bad := range []TLS{
		{Cert: pem.cert, Key: pem.key, CA: "", ClientCA: "", ClientAuth: "require"}, // would trust every public authority
		{Cert: pem.cert, Key: pem.key, CA: "", ClientCA: "", ClientAuth: "verify"},
		{Cert: pem.cert, Key: pem.key, CA: pem.cert, ClientCA: "", ClientAuth: ""},
		{Cert: pem.cert, Key: pem.key, CA: pem.key, ClientCA: "", ClientAuth: "require"},
		{Cert: pem.cert, Key: pem.key, CA: pem.cert, ClientCA: pem.key, ClientAuth: "require"},
		{Cert: pem.cert, Key: pem.cert, CA: "", ClientCA: "", ClientAuth: "none"},
		{Cert: pem.cert + "x", Key: pem.key, CA: "", ClientCA: "", ClientAuth: "none"},
		{Cert: pem.cert, Key: pem.key, CA: pem.cert + "x", ClientCA: "", ClientAuth: "none"},
	} {
		if got, err := bad.Open(nil); got != nil || err == nil {
			t.Errorf("%+v: got %+v; want an error", bad, got)
		}
	}
}

func TestTLSRefused(t *testing.T) {
	pem, other := material(t), material(t)
	absent := filepath.Join(t.TempDir(), "absent.pem")
	huge := write(t, "huge.pem", strings.Repeat("x", maxFileBytes+1))
	for _, test := range []struct {
		tls   TLS
		key   string
		parts string
	}{
		{TLS{Cert: pem.cert, ClientAuth: "none"}, "tls.key", "tls.cert needs its private key|give --tls-key FILE"},
		{TLS{Key: pem.key, ClientAuth: "none"}, "tls.cert", "tls.key needs its certificate|give --tls-cert FILE"},
		{TLS{ClientCA: pem.cert, ClientAuth: "none"}, "tls.cert", "tls.client_ca alone does not turn TLS on"},
		{TLS{Cert: pem.cert, Key: pem.key, ClientCA: pem.key, ClientAuth: "none"}, "tls.client_ca", "no certificate in PEM form"},
		{TLS{CA: pem.cert, ClientAuth: "none"}, "tls.cert", "tls.ca alone does not turn TLS on"},
		{TLS{Cert: pem.cert, Key: pem.key, ClientAuth: "require"}, "tls.client_auth", "only be checked against tls.ca|--tls-client-auth none"},
		{TLS{Cert: pem.cert, Key: pem.key, ClientAuth: "verify"}, "tls.client_auth", "only be checked against tls.ca"},
		{TLS{Cert: pem.cert, Key: other.key, ClientAuth: "none"}, "tls.cert", "does not make a pair with tls.key|private key does not match"},
		{TLS{Cert: pem.key, Key: pem.key, ClientAuth: "none"}, "tls.cert", "does not make a pair"},
		{TLS{Cert: absent, Key: pem.key, ClientAuth: "none"}, "tls.cert", absent + "|cannot be read: no such file|correct the path"},
		{TLS{Cert: pem.cert, Key: t.TempDir(), ClientAuth: "none"}, "tls.key", "cannot be read: is a directory"},
		{TLS{Cert: pem.cert, Key: pem.key, CA: huge, ClientAuth: "none"}, "tls.ca", "more than 1048576 bytes"},
		{TLS{Cert: pem.cert, Key: pem.key, CA: pem.key, ClientAuth: "none"}, "tls.ca", "no certificate in PEM form"},
		{TLS{Members: []string{"m1"}, ClientAuth: "none"}, "tls.members", "without TLS nothing proves a member's name|leave tls.members out"},
		{TLS{Cert: pem.cert, Key: pem.key, Members: []string{"m1", "[m"}, ClientAuth: "none"}, "tls.members", `"[m" is no pattern of names|as in m-*`},
	} {
		flags := map[string]string{}
		for key, text := range map[string]string{"tls.cert": test.tls.Cert, "tls.key": test.tls.Key, "tls.ca": test.tls.CA, "tls.client_ca": test.tls.ClientCA, "tls.client_auth": test.tls.ClientAuth, "tls.members": strings.Join(test.tls.Members, ",")} {
			if text != "" {
				flags[key] = text
			}
		}
		found := problems(t, Sources{Flags: flags})
		if len(found) != 1 {
			t.Errorf("%+v: %d problems: %v; want one", test.tls, len(found), found)
		}
		matches(t, found[0], test.key, test.parts)
	}
}

// matches checks that a problem is about key and says all the parts, separated by |.
func matches(t testing.TB, p Problem, key, parts string) {
	t.Helper()
	if p.Key != key {
		t.Errorf("the problem is about %s, want %s: %v", p.Key, key, p)
	}
	for part := range strings.SplitSeq(parts, "|") {
		if !strings.Contains(p.String(), part) {
			t.Errorf("the problem does not say %q: %v", part, p)
		}
	}
}

// TestClusterNeedsAuthority: members that encrypt know one another by an authority, and
// reach one another over the network.
func TestClusterNeedsAuthority(t *testing.T) {
	pem := material(t)
	cluster := map[string]string{"join": "127.0.0.1:1,127.0.0.1:4040", "expect": "2"}
	with := func(more map[string]string) map[string]string {
		all := maps.Clone(cluster)
		maps.Copy(all, more)
		return all
	}
	found := problems(t, Sources{Flags: with(map[string]string{"tls.cert": pem.cert, "tls.key": pem.key, "tls.client_ca": pem.cert})})
	matches(t, found[0], "tls.ca", "know one another by the authority|give --tls-ca FILE")
	found = problems(t, Sources{Flags: map[string]string{"join": "127.0.0.1:1", "listen": "unix:///run/h.sock"}})
	matches(t, found[0], "listen", "other members reach this one over the network|--listen HOST:PORT,unix:///run/h.sock")
}

// TestExposed: what is in plain text where other machines can reach it is listed.
func TestExposed(t *testing.T) {
	pem := material(t)
	open := map[string]string{"listen": "0.0.0.0:1", "http": ":2", "advertise": "10.0.0.1:1", "insecure": "true"}
	var keys []string
	for _, one := range mustLoad(t, Sources{Flags: open}).Exposed() {
		keys = append(keys, one.Key+" "+one.Address)
	}
	if got := strings.Join(keys, ", "); got != "listen 0.0.0.0:1, http :2, advertise 10.0.0.1:1" {
		t.Errorf("exposed: %s", got)
	}
	maps.Copy(open, map[string]string{"tls.cert": pem.cert, "tls.key": pem.key, "tls.ca": pem.cert})
	if got := mustLoad(t, Sources{Flags: open}).Exposed(); got != nil {
		t.Errorf("with TLS: %v", got)
	}
	if got := mustLoad(t, Sources{}).Exposed(); got != nil {
		t.Errorf("on loopback: %v", got)
	}
	path := write(t, "h.yaml", "listen: 0.0.0.0:4040\ninsecure: true\n")
	mustLoad(t, Sources{File: path})
}

// TestKeyOfAll: a private key that other users can read is refused, unless the operator accepts it (S6).
func TestKeyOfAll(t *testing.T) {
	pem := material(t)
	if err := os.Chmod(pem.key, 0o644); err != nil {
		t.Fatal(err)
	}
	flags := map[string]string{"tls.cert": pem.cert, "tls.key": pem.key, "tls.client_auth": "none"}
	found := problems(t, Sources{Flags: flags})
	if len(found) != 1 {
		t.Fatalf("%v; want one problem", found)
	}
	matches(t, found[0], "tls.key", `its mode is 0644|allowed: a file for its owner alone|run chmod 600 "|or accept it with --insecure-files`)
	flags["insecure_files"] = "true"
	state, data := t.TempDir(), t.TempDir()
	c := mustLoad(t, Sources{Flags: flags})
	if got := c.Unguarded(state, data); len(got) != 1 || !strings.Contains(got[0].Error(), pem.key) {
		t.Errorf("unguarded: %v", got)
	}
	for _, folder := range []string{state, data} {
		if err := os.Chmod(folder, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if got := c.Unguarded(state, data); len(got) != 3 {
		t.Errorf("with both folders: %v", got)
	}
	if got := c.Unguarded(state, state); len(got) != 2 {
		t.Errorf("with one folder for both: %v", got)
	}
}

// TestMinVersionInAFile: YAML takes 1.2 for a number.
func TestMinVersionInAFile(t *testing.T) {
	pem := material(t)
	path := write(t, "h.yaml", "tls:\n  cert: "+pem.cert+"\n  key: "+pem.key+"\n  client_auth: none\n  min_version: 1.2\n")
	settings := mustLoad(t, Sources{File: path})
	store, err := settings.TLS.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := store.Shared().MinVersion; got != tls.VersionTLS12 {
		t.Errorf("the lowest version is %s", tls.VersionName(got))
	}
}

// TestDefaultNamesAreCarried: a member that was given no name has one that a certificate
// for its IP address carries.
func TestDefaultNamesAreCarried(t *testing.T) {
	a, err := issuer.New("members")
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "10.20.30.40", "::1", "fe80::1:2", "2001:db8::7"} {
		c, err := a.Issue(issuer.Request{Hosts: []string{host}, Member: true})
		if err != nil {
			t.Fatal(err)
		}
		if name := DefaultName(net.JoinHostPort(host, "4040")); !certificate.Carries(c.Leaf, name) {
			t.Errorf("a certificate for %s does not carry %s", host, name)
		}
	}
}
