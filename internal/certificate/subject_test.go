package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/test/issuer"
)

func TestSubject(t *testing.T) {
	b := newHarness(t)
	for _, tt := range []struct {
		request issuer.Request
		want    string
	}{
		{issuer.Request{Name: "job-7"}, "cert:job-7"},
		{issuer.Request{}, ""},
		{issuer.Request{Hosts: []string{"a.example"}}, "cert:a.example"},
		{issuer.Request{URIs: []string{"spiffe://prod.example/ns/billing/sa/deploy"}}, "spiffe://prod.example/ns/billing/sa/deploy"},
		{issuer.Request{Name: "job-7", URIs: []string{"spiffe://prod.example"}}, "spiffe://prod.example"},
		{issuer.Request{Name: "job-7", URIs: []string{"spiffe://a/b", "spiffe://a/c"}}, "cert:job-7"},
		{issuer.Request{Name: "job-7", URIs: []string{"spiffe://a/b", "urn:holdfast:member:m1"}}, "cert:job-7"},
		{issuer.Request{Name: "spiffe://a/b"}, "cert:spiffe://a/b"},
		{issuer.Request{Name: "token:ci"}, "cert:token:ci"},
		{issuer.Request{Name: "x", URIs: []string{"spiffe://A.example/b"}}, "cert:x"},
		{issuer.Request{Name: "x", URIs: []string{"spiffe:///b"}}, "cert:x"},
		{issuer.Request{Name: "x", URIs: []string{"spiffe://a/"}}, "cert:x"},
		{issuer.Request{Name: "x", URIs: []string{"spiffe://a/b/"}}, "cert:x"},
		{issuer.Request{Name: "x", URIs: []string{"spiffe://a//b"}}, "cert:x"},
		{issuer.Request{Name: "x", URIs: []string{"spiffe://a/../b"}}, "cert:x"},
		{issuer.Request{Name: "x", URIs: []string{"spiffe://a/./b"}}, "cert:x"},
		{issuer.Request{Name: "x", URIs: []string{"spiffe://a/b?c"}}, "cert:x"},
		{issuer.Request{Name: "x", URIs: []string{"spiffe://a/b#c"}}, "cert:x"},
		{issuer.Request{Name: "x", URIs: []string{"spiffe://a:1/b"}}, "cert:x"},
		{issuer.Request{Name: "x", URIs: []string{"spiffe://u@a/b"}}, "cert:x"},
		{issuer.Request{Name: "x", URIs: []string{"spiffe://a/b%2fc"}}, "cert:x"},
		{issuer.Request{Name: "x", URIs: []string{"spiffe://a/" + strings.Repeat("b", 2048)}}, "cert:x"},
		{issuer.Request{Name: "x", URIs: []string{"https://a/b"}}, "cert:x"},
	} {
		if got := Subject(b.leaf(tt.request)); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.request, got, tt.want)
		}
	}
}

// TestInvisibleNames: a certificate whose name looks like another one's opens nothing.
func TestInvisibleNames(t *testing.T) {
	b := newHarness(t)
	b.issue(b.members, "m1", issuer.Request{Name: "m1", Hosts: []string{"127.0.0.1"}, Member: true})
	server := b.open("m1", true, tls.RequireAndVerifyClientCert)
	for name, refused := range map[string]string{
		"job-7": "", "jöb 7": "", "job\u200b-7": `"job\u200b-7" has control or invisible format characters`, "\u202e7-boj": "invisible", "job\n7": "control", "job\u2028": "invisible",
	} {
		c, err := b.clients.Issue(issuer.Request{URIs: []string{"urn:x"}})
		b.must(err)
		c.Leaf.Subject.CommonName = name // a DNS name of that kind cannot be signed
		state := tls.ConnectionState{PeerCertificates: []*x509.Certificate{c.Leaf}}
		got, err := server.Client(&state)
		if refused == "" && (err != nil || got != name) {
			t.Errorf("%q: %q, %v", name, got, err)
		}
		if refused != "" {
			wants(t, err, refused)
		}
	}
}
