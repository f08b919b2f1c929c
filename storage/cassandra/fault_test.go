package cassandra

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/holdfast-locks/holdfast/internal/test/issuer"
	"github.com/holdfast-locks/holdfast/internal/test/realstore"
	"github.com/holdfast-locks/holdfast/storage"
)

// strict is what a node is set to that wants TLS on both sides, passwords and permissions, and
// gives up a read that passes over more than a thousand tombstones.
const strict = `
authenticator: PasswordAuthenticator
authorizer: CassandraAuthorizer
roles_validity: 0ms
permissions_validity: 0ms
credentials_validity: 0ms
tombstone_warn_threshold: 500
tombstone_failure_threshold: 1000
client_encryption_options:
  enabled: true
  optional: false
  require_client_auth: true
  ssl_context_factory:
    class_name: org.apache.cassandra.security.PEMBasedSslContextFactory
  keystore: %s
  truststore: %s
`

// harness is a node of a test's own, and what it takes to reach it.
type harness struct {
	*realstore.CassandraNode
	keyspace string
	secure   url.Values // the options of TLS
}

// newHarness starts a strict node.
func newHarness(t *testing.T) *harness {
	t.Helper()
	folder := t.TempDir()
	authority, err := issuer.New("cassandra")
	if err != nil {
		t.Fatal(err)
	}
	ca, err := authority.Write(folder, "ca")
	if err != nil {
		t.Fatal(err)
	}
	issue := func(request issuer.Request) (cert, key string) {
		t.Helper()
		issued, err := authority.Issue(request)
		if err != nil {
			t.Fatal(err)
		}
		files, err := issued.Write(folder, request.Name)
		if err != nil {
			t.Fatal(err)
		}
		return files.Cert, files.Key
	}
	nodeCert, nodeKey := issue(issuer.Request{Name: "node", Hosts: []string{"127.0.0.1"}, Member: true})
	cert, key := issue(issuer.Request{Name: "locker"})
	// Cassandra reads key and certificate from one file.
	var both []byte
	for _, file := range []string{nodeKey, nodeCert} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		both = append(both, text...)
	}
	pair := filepath.Join(folder, "pair.pem")
	if err := os.WriteFile(pair, both, 0o600); err != nil {
		t.Fatal(err)
	}
	return &harness{
		CassandraNode: realstore.CassandraNodes(t, 1, fmt.Sprintf(strict, pair, ca))[0],
		keyspace:      realstore.Keyspace(),
		secure:        url.Values{"tls": {"true"}, "ca": {ca}, "cert": {cert}, "key": {key}},
	}
}

// url names the node to a user, with further options.
func (b *harness) url(user, password, more string) string {
	return "cassandra://" + user + ":" + password + "@" + b.Address + "/" + b.keyspace + "?" + b.secure.Encode() + more
}

// insist opens a store until that works, or fails for good: a node that has other things to
// do may be too slow for a connection.
func insist(t *testing.T, url string, final func(error) bool) (*Store, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		s, err := Open(ctx, url)
		if err == nil || final(err) || ctx.Err() != nil {
			return s, err
		}
	}
}

// mustFail opens a store, which must not work, and says so with these words and this kind.
func mustFail(t *testing.T, url, says string, kind error) {
	t.Helper()
	s, err := insist(t, url, func(err error) bool { return kind == storage.ErrRefused || !errors.Is(err, storage.ErrRefused) })
	if err == nil {
		_ = s.Close()
	}
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
		t.Errorf("open: %v; want %q, of the kind %q", err, says, kind)
	}
}

// of says whether an error is of this kind alone.
func of(t *testing.T, what string, err, kind error) {
	t.Helper()
	for _, k := range []error{storage.ErrRefused, storage.ErrInvalid, storage.ErrUnknown} {
		if errors.Is(err, k) != (k == kind) {
			t.Errorf("%s: %v; want the kind %q alone", what, err, kind)
			return
		}
	}
}

// TestFaults does to a node of its own what a shared one cannot bear, and more each time.
func TestFaults(t *testing.T) {
	b := newHarness(t)
	// The first user is made while the node answers already, and is not known before.
	final := func(err error) bool {
		return !errors.Is(err, storage.ErrRefused) && !strings.Contains(err.Error(), "incorrect")
	}
	openFor := func(more string) *Store {
		t.Helper()
		s, err := insist(t, b.url("cassandra", "cassandra", more), final)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
	root, hasty := openFor("&replication=1"), openFor("&timeout=1s")
	t.Run("doors", func(t *testing.T) { doors(t, b, root) })
	t.Run("tombstones", func(t *testing.T) { tooMany(t, root) })
	t.Run("pause", func(t *testing.T) { paused(t, b, hasty, root) })
	t.Run("close", func(t *testing.T) { closed(t, b) })
	t.Run("crash", func(t *testing.T) { crashed(t, b, hasty) })
}

// doors: the error of who may not come in says why, and who comes in needs no more than to read and to
// write the two tables.
func doors(t *testing.T, b *harness, root *Store) {
	mustFail(t, b.url("cassandra", "secret", ""), "incorrect", storage.ErrInvalid)
	mustFail(t, "cassandra://cassandra:secret@"+b.Address+"/k", "", storage.ErrRefused)
	mustFail(t, "cassandra://cassandra:secret@"+b.Address+"/k?tls=true", "certificate", storage.ErrRefused)
	mustFail(t, "cassandra://"+b.Address+"/k?tls=true&ca=/nowhere", "/nowhere", storage.ErrInvalid)
	mustFail(t, "cassandra://"+b.Address+"/k?tls=true&cert=/nowhere&key=/nowhere", "/nowhere", storage.ErrInvalid)
	mustFail(t, strings.Replace(b.url("cassandra", "cassandra", ""), b.keyspace, "elsewhere", 1), "keyspace elsewhere is not there", storage.ErrInvalid)

	mustFail(t, b.url("cassandra", "cassandra", "&server_name=elsewhere"), "not elsewhere", storage.ErrRefused)
	named := open(t, b.url("cassandra", "cassandra", "&server_name=node"))
	want(t, named, &storage.Slice{Key: "nothing"})

	do := func(statement string) {
		t.Helper()
		if err := root.session.Query(statement).ExecContext(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	do("CREATE ROLE locker WITH PASSWORD = 'secret' AND LOGIN = true")
	mustFail(t, b.url("locker", "secret", ""), "SELECT permission", storage.ErrInvalid)
	do("GRANT SELECT ON TABLE " + root.table + " TO locker")
	mustFail(t, b.url("locker", "secret", ""), "MODIFY permission", storage.ErrInvalid)
	do("GRANT MODIFY ON TABLE " + root.table + " TO locker")
	do("GRANT MODIFY ON TABLE " + root.table + "_swap TO locker")
	mustFail(t, b.url("locker", "secret", ""), "SELECT permission", storage.ErrInvalid)
	do("GRANT SELECT ON TABLE " + root.table + "_swap TO locker")
	mustFail(t, b.url("locker", "secret", "&table=others"), "CREATE permission", storage.ErrInvalid)
	s := open(t, b.url("locker", "secret", ""))
	add(t, s, "doors", 1, time.Hour, "c", "v")
	remove(t, s, "doors", 1, "c")
	want(t, s, &storage.Slice{Key: "doors", Serial: true})
}

// tooMany tombstones make a row that cannot be read, but from where there are fewer.
func tooMany(t *testing.T, s *Store) {
	const count, portion = 1500, 100 // a node that shares its processors answers a small batch in time
	for from := 0; from < count; from += portion {
		m := &storage.Mutate{Key: "tombs", Timestamp: 1}
		for i := range portion {
			m.Deletions = append(m.Deletions, fmt.Sprintf("%05d", from+i))
		}
		if err := s.Mutate(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Slice(t.Context(), &storage.Slice{Key: "tombs"})
	of(t, "a slice over too many tombstones", err, storage.ErrInvalid)
	if !is[*gocql.RequestErrReadFailure](err) {
		t.Errorf("%T %v, want a failure to read", err, err)
	}
	want(t, s, &storage.Slice{Key: "tombs", Start: "01000"})
}

// request asks for one of each in a row, for so long at most.
func request(t *testing.T, s storage.Store, key string, limit time.Duration) (slice, serial, write, batch, swap error) {
	t.Helper()
	do := func(what func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		return what(ctx)
	}
	read := func(serial bool) error {
		return do(func(ctx context.Context) error {
			_, err := s.Slice(ctx, &storage.Slice{Key: key, Serial: serial})
			return err
		})
	}
	mutate := func(m *storage.Mutate) error {
		return do(func(ctx context.Context) error { return s.Mutate(ctx, m) })
	}
	slice, serial = read(false), read(true)
	write = mutate(&storage.Mutate{Key: key, Additions: []storage.Entry{{Column: "c"}}})
	batch = mutate(&storage.Mutate{Key: key, Deletions: []string{"c", "d"}})
	swap = do(func(ctx context.Context) error {
		_, err := s.Swap(ctx, &storage.Swap{Key: key, Column: "c", Absent: true, New: "mine"})
		return err
	})
	return slice, serial, write, batch, swap
}

// everything fails, with these kinds.
func everything(t *testing.T, s storage.Store, limit time.Duration, reading, writing, swapping error) {
	t.Helper()
	slice, serial, write, batch, swap := request(t, s, "k", limit)
	of(t, "a slice", slice, reading)
	of(t, "a serial slice", serial, reading)
	of(t, "a write", write, writing)
	of(t, "a batch", batch, writing)
	of(t, "a swap", swap, swapping)
}

// paused: a node that is stopped answers nothing, and what it was asked for may happen later.
func paused(t *testing.T, b *harness, s, patient *Store) {
	add(t, patient, "k", 1, 0, "there", "")
	// The node knows the statements from now on: of a request in two steps the second
	// would never come.
	for warm := 0; warm < 5; {
		warm = 0
		slice, serial, write, batch, swap := request(t, s, "warm", time.Minute)
		for _, err := range []error{slice, serial, write, batch, swap} {
			if err == nil {
				warm++
			} else if errors.Is(err, storage.ErrInvalid) {
				t.Fatal(err)
			}
		}
	}
	b.Pause(t)
	err := s.Mutate(t.Context(), &storage.Mutate{Key: "k", Additions: []storage.Entry{{Column: "late"}}})
	of(t, "a write to a paused node", err, storage.ErrUnknown)
	if !errors.Is(err, gocql.ErrTimeoutNoResponse) {
		t.Errorf("%v, want %v", err, gocql.ErrTimeoutNoResponse)
	}
	everything(t, s, time.Minute, storage.ErrRefused, storage.ErrUnknown, storage.ErrUnknown)
	everything(t, s, 50*time.Millisecond, storage.ErrRefused, storage.ErrUnknown, storage.ErrUnknown)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	short, end := context.WithTimeout(ctx, 50*time.Millisecond)
	defer end()
	if _, err = s.Slice(short, &storage.Slice{Key: "k"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want %v", err, context.DeadlineExceeded)
	}
	// Nothing was sent where there is no time left.
	of(t, "a write without time", s.Mutate(short, &storage.Mutate{Key: "k", Deletions: []string{"there"}}), storage.ErrRefused)
	b.Resume(t)
	// What was not known shows now: all that it was asked for, the node has done.
	for {
		entries, err := s.Slice(ctx, &storage.Slice{Key: "k", Serial: true})
		if err == nil && len(entries) == 1 && entries[0].Value == "mine" {
			break
		}
		if ctx.Err() != nil || err != nil && !errors.Is(err, storage.ErrRefused) {
			t.Fatalf("the swap of a node that goes on: %q, %v", entries, err)
		}
	}
	want(t, patient, &storage.Slice{Key: "k", Start: "l"}, "late", "", "there", "")
}

// streams receives a value when a request is sent that has it in its context.
type streams chan struct{}

func (s streams) StreamContext(ctx context.Context) gocql.StreamObserverContext {
	if ctx.Value(s) == nil {
		return nil
	}
	return s
}

func (s streams) StreamStarted(gocql.ObservedStream) { close(s) }

func (s streams) StreamFinished(gocql.ObservedStream)  {}
func (s streams) StreamAbandoned(gocql.ObservedStream) {}

// closed: what is under way ends when the store is closed, and nothing begins after that.
func closed(t *testing.T, b *harness) {
	o, err := parse(b.url("cassandra", "cassandra", "&timeout=1h"))
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := o.cluster()
	if err != nil {
		t.Fatal(err)
	}
	begun := make(streams)
	cluster.StreamObserver = begun
	session, err := cluster.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	s := newStore(t.Context(), session, o)
	add(t, s, "k", 2, 0, "there", "")
	b.Pause(t)
	defer b.Resume(t)
	ended := make(chan error, 2)
	go func() {
		ctx := context.WithValue(t.Context(), begun, true)
		ended <- s.Mutate(ctx, &storage.Mutate{Key: "k", Timestamp: 3, Additions: []storage.Entry{{Column: "there"}}})
		_, err := s.Slice(t.Context(), &storage.Slice{Key: "k"})
		ended <- err
	}()
	<-begun
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	of(t, "a write that is under way when the store is closed", <-ended, storage.ErrUnknown)
	of(t, "a slice after the end", <-ended, storage.ErrInvalid)
	everything(t, s, time.Minute, storage.ErrInvalid, storage.ErrInvalid, storage.ErrInvalid)
}

// crashed: of what is asked for after the connections are gone nothing was done.
func crashed(t *testing.T, b *harness, s *Store) {
	patient := open(t, b.url("cassandra", "cassandra", "&retries=3"))
	b.Kill(t)
	for {
		err := s.Mutate(t.Context(), &storage.Mutate{Key: "k", Deletions: []string{"there"}})
		if errors.Is(err, gocql.ErrNoConnections) {
			break
		}
		// Before, a connection may be met that ends just now.
		of(t, "a write to a killed node", err, storage.ErrUnknown)
		if t.Failed() {
			return
		}
	}
	everything(t, s, time.Minute, storage.ErrRefused, storage.ErrRefused, storage.ErrRefused)
	_, err := patient.Slice(t.Context(), &storage.Slice{Key: "k"})
	of(t, "a slice that is tried again", err, storage.ErrRefused)
	mustFail(t, b.url("cassandra", "cassandra", ""), "refused", storage.ErrRefused)
}
