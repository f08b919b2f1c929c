package postgres_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/test/issuer"
	"github.com/holdfast-locks/holdfast/internal/test/realstore"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/postgres"
)

// party is an authority, and a client that it has signed a certificate for.
type party struct {
	*issuer.Authority
	trusts, presents string // options
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
	presents := url.Values{"sslcert": {files.Cert}, "sslkey": {files.Key}}
	return party{authority, "&" + url.Values{"sslrootcert": {ca}}.Encode(), "&" + presents.Encode()}
}

// works writes, reads, swaps and watches.
func works(t *testing.T, address string) {
	t.Helper()
	store, err := postgres.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		began := time.Now()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("Close took %v", took)
		}
	}()
	notified := make(chan struct{}, 16)
	if err := store.Watch(t.Context(), "cell", func() { notified <- struct{}{} }); err != nil {
		t.Fatal(err)
	}
	<-notified // it begins
	if err := store.Mutate(t.Context(), add("row", "c")); err != nil {
		t.Fatal(err)
	}
	entries, err := store.Slice(t.Context(), &storage.Slice{Key: "row"})
	if err != nil || len(entries) != 1 {
		t.Errorf("the row has %v, %v; want one column", entries, err)
	}
	// Whether it is the first to write the cell or not, it knows how it is.
	swapped, err := store.Swap(t.Context(), &storage.Swap{Key: "cell", Column: "c", Absent: true, New: "v"})
	if err != nil || !swapped.Done && swapped.Value != "v" {
		t.Fatalf("the swap: %+v, %v", swapped, err)
	}
	if err := store.Mutate(t.Context(), &storage.Mutate{Key: "cell", Deletions: []string{"d"}, Timestamp: 1}); err != nil {
		t.Fatal(err)
	}
	<-notified // of the deletion
}

// refuses fails where something is opened by a URL, or the error is of another kind or says something else.
func (b *harness) refuses(what, address string, kind error, says string) {
	b.Helper()
	store, err := postgres.Open(b.Context(), address)
	if err == nil {
		_ = store.Close() // the test has failed already
	}
	b.want(what, err, kind, says)
}

// TestEncrypted: with the certificate of the authority that has signed the server's it works, and with no
// other; nor without TLS, or where the certificate is for another host.
func TestEncrypted(t *testing.T) {
	ours, others := newParty(t, "ours"), newParty(t, "others")
	b := &harness{T: t, server: realstore.StartPostgresTLS(t, realstore.TLS{Authority: ours.Authority})}
	for range 8 { // closing while others are being notified must not take long, however far that has come
		works(t, b.server.URL()+ours.trusts)
	}
	const unknown = "certificate signed by unknown authority"
	b.refuses("an authority that is not named", b.server.URL(), storage.ErrRefused, unknown)
	b.refuses("another authority", b.server.URL()+others.trusts, storage.ErrRefused, unknown)
	b.refuses("no TLS", "postgres://postgres@"+b.server.Address()+"/postgres?sslmode=disable", storage.ErrInvalid, "no encryption")

	named := &harness{T: t, server: realstore.StartPostgresTLS(t, realstore.TLS{Authority: ours.Authority, Host: "db.example"})}
	named.refuses("another host", named.server.URL()+ours.trusts, storage.ErrRefused, "127.0.0.1")
	works(t, "postgres://postgres@"+named.server.Address()+"/postgres?sslmode=verify-ca"+ours.trusts)
}

// TestMutual: a server that wants clients to prove who they are lets in the clients that have a
// certificate of its authority, and no others.
func TestMutual(t *testing.T) {
	ours, others := newParty(t, "ours"), newParty(t, "others")
	b := &harness{T: t, server: realstore.StartPostgresTLS(t, realstore.TLS{Authority: ours.Authority, Mutual: true})}
	works(t, b.server.URL()+ours.trusts+ours.presents)
	b.refuses("no certificate", b.server.URL()+ours.trusts, storage.ErrInvalid, "valid client certificate")
	b.refuses("another's certificate", b.server.URL()+ours.trusts+others.presents, storage.ErrInvalid, "valid client certificate")
}
