package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/test/issuer"
)

func (b *harness) leaf(request issuer.Request) *x509.Certificate {
	b.t.Helper()
	c, err := b.members.Issue(request)
	b.must(err)
	return c.Leaf
}

// TestCarries: a name is carried exactly, in each of its forms.
func TestCarries(t *testing.T) {
	b := newHarness(t)
	for _, tt := range []struct {
		request issuer.Request
		name    string
		want    bool
	}{
		{issuer.Request{Name: "a"}, "a", true},
		{issuer.Request{Name: "a"}, "A", false},
		{issuer.Request{Name: "a"}, "", false},
		{issuer.Request{}, "", false},
		{issuer.Request{Name: "a"}, "a-1", false},
		{issuer.Request{Hosts: []string{"x", "b_2.example"}}, "b_2.example", true},
		{issuer.Request{Hosts: []string{"*.example"}}, "b.example", false},
		{issuer.Request{URIs: []string{"urn:holdfast:member:a"}}, "a", true},
		{issuer.Request{URIs: []string{"urn:holdfast:member:10.0.0.1%3A4040"}}, "10.0.0.1:4040", true},
		{issuer.Request{URIs: []string{"urn:holdfast:client:a"}}, "a", false},
		{issuer.Request{URIs: []string{"https://a"}}, "a", false},
		{issuer.Request{Hosts: []string{"10.0.0.1"}}, "10.0.0.1-4040", true},
		{issuer.Request{Hosts: []string{"10.0.0.1"}}, "10.0.0.1:4040", true},
		{issuer.Request{Hosts: []string{"10.0.0.1"}}, "10.0.0.1-0", false},
		{issuer.Request{Hosts: []string{"10.0.0.1"}}, "10.0.0.1-04040", false},
		{issuer.Request{Hosts: []string{"10.0.0.1"}}, "10.0.0.1-65536", false},
		{issuer.Request{Hosts: []string{"10.0.0.1"}}, "10.0.0.1", false},
		{issuer.Request{Hosts: []string{"10.0.0.1"}}, "10.0.0.11-4040", false},
		{issuer.Request{Hosts: []string{"10.0.0.1"}}, "-4040", false},
		{issuer.Request{Hosts: []string{"::1"}}, "[::1]:4040", true},
		{issuer.Request{Hosts: []string{"lock.example"}}, "lock.example-4040", false},
	} {
		if got := Carries(b.leaf(tt.request), tt.name); got != tt.want {
			t.Errorf("%+v carries %q: %v", tt.request, tt.name, got)
		}
	}
}

// TestName: the one name by which a certificate's owner is known.
func TestName(t *testing.T) {
	b := newHarness(t)
	for want, request := range map[string]issuer.Request{
		"job-7":         {Name: "job-7", Hosts: []string{"other"}},
		"first.example": {Hosts: []string{"first.example", "second.example"}},
		"spiffe://x/y":  {URIs: []string{"spiffe://x/y"}},
		"10.0.0.1":      {Hosts: []string{"10.0.0.1"}},
		`"a\nb"`:        {Name: "a\nb"},
		"":              {},
	} {
		if got := Name(b.leaf(request)); got != want {
			t.Errorf("%+v is called %q, want %q", request, got, want)
		}
	}
	if got := Names(b.leaf(issuer.Request{})); got != "no name" {
		t.Errorf("a certificate without a name is for %q", got)
	}
}

// TestClientNames: a client has a name of a sensible length.
func TestClientNames(t *testing.T) {
	b := newHarness(t)
	s := b.open("", true, tls.VerifyClientCertIfGiven)
	for _, tt := range []struct {
		name, says string
	}{{strings.Repeat("n", mostNameBytes), ""}, {strings.Repeat("n", mostNameBytes+1), "has 257 bytes; at most 256"}, {"", "has no name"}} {
		c, err := b.clients.Issue(issuer.Request{Name: tt.name})
		b.must(err)
		_, err = s.Client(&tls.ConnectionState{PeerCertificates: []*x509.Certificate{c.Leaf}})
		wants(t, err, tt.says)
	}
}

// TestSentences: both sides report every fault of a certificate, with what to do.
func TestSentences(t *testing.T) {
	b := newHarness(t)
	past, future := b.at.Add(-time.Minute), b.at.Add(30*time.Minute)
	b.issue(b.members, "m1", issuer.Request{Name: "m1", Hosts: []string{"127.0.0.1"}, Member: true})
	b.issue(b.members, "far", issuer.Request{Name: "far", Hosts: []string{"10.9.9.9"}, Member: true})
	b.issue(b.members, "old", issuer.Request{Name: "old", Hosts: []string{"127.0.0.1"}, Member: true, NotAfter: past})
	b.issue(b.members, "young", issuer.Request{Name: "young", Hosts: []string{"127.0.0.1"}, Member: true, NotBefore: future})
	b.issue(b.clients, "rogue", issuer.Request{Name: "rogue", Hosts: []string{"127.0.0.1"}, Member: true})
	b.issue(b.clients, "job-7", issuer.Request{Name: "job-7"})
	b.issue(b.clients, "late", issuer.Request{Name: "late", NotAfter: past})
	b.issue(b.authority("third"), "stray", issuer.Request{Name: "stray"})
	for _, tt := range []struct{ server, client, dialling, accepting string }{
		{"far", "job-7", "is for 10.9.9.9, far and not for 127.0.0.1|--tls-server-name", "refuses this member's certificate"},
		{"old", "job-7", "for 127.0.0.1, old does not do|has expired at|renew it", "refuses this member's certificate|has expired"},
		{"young", "job-7", "not valid before|set the clocks", ""},
		{"rogue", "job-7", "signed by authority of clients|not known here|--tls-ca FILE", "refuses this member's certificate"},
		{"m1", "", "demands a client certificate|--tls-cert FILE and --tls-key FILE", "shows no certificate|--tls-cert FILE"},
		{"m1", "late", "our certificate for late has expired|renew it", "its certificate for late does not do|has expired at"},
		{"m1", "stray", "does not know the authority authority of third that has signed our certificate for stray|--tls-cert FILE", "signed by authority of third|tls.client_ca"},
	} {
		client := b.open(tt.client, false, 0)
		m := b.meet(b.open(tt.server, true, tls.RequireAndVerifyClientCert).Shared(), client.Dialling())
		wants(t, client.ExplainDialling(m.failed), tt.dialling)
		if tt.accepting != "" {
			wants(t, ExplainAccepting(m.refused), tt.accepting)
		}
	}
	if !strings.Contains(b.log.String(), "no peer will accept this certificate") {
		t.Errorf("no line about a certificate that has expired before it was used:\n%s", b.log.String())
	}
}
