package node_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
	"github.com/holdfast-locks/holdfast/internal/test/issuer"
	"github.com/holdfast-locks/holdfast/node"
)

// TestMembersAreListed checks that two nodes with certificates form a cluster, and that they take no further node under
// a name that Members does not list, although the same authority has signed its certificate.
func TestMembersAreListed(t *testing.T) {
	t.Parallel()
	members, err := issuer.New("members")
	if err != nil {
		t.Fatal(err)
	}
	certified := func(name string) *tls.Config {
		c, err := members.Issue(issuer.Request{Name: name, Member: true})
		if err != nil {
			t.Fatal(err)
		}
		return &tls.Config{Certificates: []tls.Certificate{c.TLS()}, RootCAs: members.Pool()}
	}
	addresses, err := clustertest.FreeAddresses(4)
	if err != nil {
		t.Fatal(err)
	}
	both := pair(t)
	for i := range both {
		both[i].Listen, both[i].Join = addresses[i], addresses[:2]
		both[i].TLS, both[i].Members = certified(both[i].Name), []string{"a", "[bc]"}
	}
	a, _ := startPair(t, both)
	lock, err := a.TryLock(t.Context(), "n")
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	guest := func(name, address string, unanswered func(error)) node.Config {
		return node.Config{Name: name, Listen: address, Join: both[0].Join, TLS: certified(name), Unanswered: unanswered}
	}
	if err := start(t, guest("c", addresses[2], nil)).WaitReady(t.Context()); err != nil {
		t.Error(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var refusal error
	n, err := node.Start(ctx, guest("x", addresses[3], func(why error) { refusal = why; stop() }))
	if err == nil {
		t.Errorf("a node joins under a name that is not listed: %v", n.Close())
	}
	if refusal == nil || !strings.Contains(refusal.Error(), "Members does not list member x; it has a, [bc]") {
		t.Errorf("it is refused with %v", refusal)
	}
}

// TestMembersNeedTLS checks that a list without proof, and one that cannot be read, are refused.
func TestMembersNeedTLS(t *testing.T) {
	roots := &tls.Config{RootCAs: x509.NewCertPool()}
	for want, c := range map[string]node.Config{
		"without TLS nothing proves a member's name": {Members: []string{"a"}, Listen: "127.0.0.1:0"},
		`Members: "[a": syntax error in pattern`:     {Members: []string{"[a"}, Listen: "127.0.0.1:0", TLS: roots},
		"a Unix socket is not encrypted":             {Listen: "unix://" + t.TempDir() + "/a", TLS: roots},
	} {
		c.Name, c.Join = "a", []string{"127.0.0.1:1"}
		n, err := node.Start(t.Context(), c)
		if err == nil {
			t.Errorf("%v is taken: %v", want, n.Close())
			continue
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", want, err)
		}
	}
}
