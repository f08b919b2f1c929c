package etcd_test

import (
	"net/url"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/test/issuer"
	"github.com/holdfast-locks/holdfast/internal/test/realstore"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/etcd"
)

// party is an authority, and a client that it has signed a certificate for.
type party struct {
	*issuer.Authority
	trusts, presents url.Values // options
}

func newParty(t *testing.T, name string) party {
	t.Helper()
	authority, err := issuer.New(name)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	ca, err := authority.Write(folder, "ca")
	if err != nil {
		t.Fatal(err)
	}
	client, err := authority.Issue(issuer.Request{Name: "client"})
	if err != nil {
		t.Fatal(err)
	}
	files, err := client.Write(folder, "client")
	if err != nil {
		t.Fatal(err)
	}
	return party{authority, url.Values{"ca": {ca}}, url.Values{"cert": {files.Cert}, "key": {files.Key}}}
}

// with is a URL with options.
func with(address string, options ...url.Values) string {
	all := url.Values{}
	for _, some := range options {
		for name, values := range some {
			all[name] = values
		}
	}
	return address + "?" + all.Encode()
}

// works writes, reads, swaps and watches.
func works(t *testing.T, address string) {
	t.Helper()
	store := open(t, address)
	notified := make(chan struct{}, 16)
	if err := store.Watch(t.Context(), "cell", func() { notified <- struct{}{} }); err != nil {
		t.Fatal(err)
	}
	<-notified // it begins
	if err := store.Mutate(t.Context(), add("row", "v")); err != nil {
		t.Fatal(err)
	}
	if got := value(t, store, "row"); got != "v" {
		t.Errorf("the row has %q, want %q", got, "v")
	}
	swapped, err := store.Swap(t.Context(), &storage.Swap{Key: "cell", Column: "c", Absent: true, New: "v", Notify: true})
	if err != nil || !swapped.Done {
		t.Fatalf("the swap: %+v, %v", swapped, err)
	}
	<-notified
}

// TestEncrypted: with the certificate of the authority that has signed the server's it works, and with no
// other; nor where the server's certificate is for another host.
func TestEncrypted(t *testing.T) {
	ours, others := newParty(t, "ours"), newParty(t, "others")
	s := realstore.StartEtcdTLS(t, realstore.TLS{Authority: ours.Authority})
	works(t, with(s.URL(), ours.trusts))
	of(t, refused(t, s.URL()), storage.ErrRefused, "certificate signed by unknown authority")
	of(t, refused(t, with(s.URL(), others.trusts)), storage.ErrRefused, "certificate signed by unknown authority")
	of(t, refused(t, with(s.URL(), ours.trusts, url.Values{"server_name": {"elsewhere.example"}})), storage.ErrRefused, "elsewhere.example")
	of(t, refused(t, "etcd://"+s.Address()), storage.ErrRefused, "")
	works(t, with("etcd://"+s.Address()+"/elsewhere", ours.trusts, url.Values{"tls": {"true"}}))
}

// TestServerNamed: a server whose certificate is for a name that is never dialled.
func TestServerNamed(t *testing.T) {
	ours := newParty(t, "ours")
	s := realstore.StartEtcdTLS(t, realstore.TLS{Authority: ours.Authority, Host: "store.example"})
	works(t, with(s.URL(), ours.trusts, url.Values{"server_name": {"store.example"}}))
	of(t, refused(t, with(s.URL(), ours.trusts)), storage.ErrRefused, "127.0.0.1")
}

// TestMutual: a server that wants clients to prove who they are lets in the clients that have a
// certificate of its authority, and no others.
func TestMutual(t *testing.T) {
	ours, others := newParty(t, "ours"), newParty(t, "others")
	s := realstore.StartEtcdTLS(t, realstore.TLS{Authority: ours.Authority, Mutual: true})
	works(t, with(s.URL(), ours.trusts, ours.presents))
	// The server says why, and ends the connection: what comes first is a matter of luck.
	of(t, refused(t, with(s.URL(), ours.trusts)), storage.ErrRefused, "open etcd at https://"+s.Address())
	of(t, refused(t, with(s.URL(), ours.trusts, others.presents)), storage.ErrRefused, "open etcd at https://"+s.Address())
}

// refused is the error of a URL that nothing is opened by.
func refused(t *testing.T, address string) error {
	t.Helper()
	store, err := etcd.Open(t.Context(), address)
	if err == nil {
		t.Errorf("%s is opened", address)
		_ = store.Close() // the test has failed already
	}
	return err
}
