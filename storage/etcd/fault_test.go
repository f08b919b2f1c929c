package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/holdfast-locks/holdfast/internal/test/realstore"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/etcd"
)

// patience bounds what a test waits for, and brief what it waits for in vain.
const (
	patience = 20 * time.Second
	brief    = 100 * time.Millisecond
)

// person does with a cluster what people do.
func person(t *testing.T, s *realstore.Server) *clientv3.Client {
	t.Helper()
	return personWho(t, s, "", "")
}

// personWho is a person with a name and a password.
func personWho(t *testing.T, s *realstore.Server, name, password string) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Address()}, Username: name, Password: password, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

func add(key, value string) *storage.Mutate {
	return &storage.Mutate{Key: key, Additions: []storage.Entry{{Column: "c", Value: value}}, Timestamp: 1}
}

// of fails where an error is not of a kind, or does not have the text.
func of(t *testing.T, err, kind error, text string) {
	t.Helper()
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), text) {
		t.Errorf("%v; want the kind %q, and %q in it", err, kind, text)
	}
}

// await tries until something holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !holds() {
		select {
		case <-again.C:
		case <-limit.C:
			t.Fatalf("%s: it does not come to pass", what)
		}
	}
}

// value reads the only column of a row.
func value(t *testing.T, store storage.Store, key string) string {
	t.Helper()
	entries, err := store.Slice(t.Context(), &storage.Slice{Key: key})
	if err != nil || len(entries) > 1 {
		t.Fatal(entries, err)
	}
	if len(entries) == 0 {
		return ""
	}
	return entries[0].Value
}

// TestTooMuch: what is more than a request may have is not taken, and what there is no room for
// is refused.
func TestTooMuch(t *testing.T) {
	const quota = 2 << 20
	s := realstore.StartEtcd(t, "--quota-backend-bytes", fmt.Sprint(quota))
	store := open(t, s.URL())
	of(t, store.Mutate(t.Context(), add("row", strings.Repeat("v", 900<<10))), storage.ErrInvalid, "request is too large")
	of(t, store.Mutate(t.Context(), add("row", strings.Repeat("v", 4<<20))), storage.ErrInvalid, "larger than max")
	m := &storage.Mutate{Key: "row"}
	for i := range 4032 {
		m.Additions = append(m.Additions, storage.Entry{Column: fmt.Sprint(i)})
	}
	if err := store.Mutate(t.Context(), m); err != nil {
		t.Errorf("4032 columns: %v", err)
	}
	m.Additions = append(m.Additions, storage.Entry{Column: "one more"})
	of(t, store.Mutate(t.Context(), m), storage.ErrInvalid, "too many operations")
	var err error
	for i := 0; err == nil && i < 400; i++ { // it counts what it has written now and then
		err = store.Mutate(t.Context(), add(fmt.Sprint("row ", i), strings.Repeat("v", 500<<10)))
	}
	if err == nil {
		size := status(t, s).DbSize
		if size < 10*quota {
			t.Fatalf("400 rows of 500 KiB were taken, and the database has %d bytes", size)
		}
		lacks(t, s, fmt.Sprintf("it has %d bytes, with a quota of %d: it does not count what transactions inside transactions write", size, quota))
	}
	of(t, err, storage.ErrRefused, "database space exceeded; it has reached its quota")
}

// status asks the server about itself.
func status(t *testing.T, s *realstore.Server) *clientv3.StatusResponse {
	t.Helper()
	status, err := person(t, s).Status(t.Context(), s.Address())
	if err != nil {
		t.Fatal(err)
	}
	return status
}

// lacks ends a test whose server has a fault that newer releases do not have (docs/stores.md).
func lacks(t *testing.T, s *realstore.Server, fault string) {
	t.Helper()
	realstore.Lacks(t, fmt.Errorf("etcd %s: %s", status(t, s).Version, fault))
}

// TestWhoMayNot: a wrong password, and rights that are not enough. No error has the password.
func TestWhoMayNot(t *testing.T) {
	s := realstore.StartEtcd(t)
	client, ctx := person(t, s), t.Context()
	for _, do := range []func() error{
		func() error { _, err := client.UserAdd(ctx, "root", "secret"); return err },
		func() error { _, err := client.UserGrantRole(ctx, "root", "root"); return err },
		func() error { _, err := client.UserAdd(ctx, "reader", "se:cret"); return err },
		func() error { _, err := client.RoleAdd(ctx, "reading"); return err },
		func() error {
			_, err := client.RoleGrantPermission(ctx, "reading", "holdfast/", "holdfast0", clientv3.PermissionType(clientv3.PermRead))
			return err
		},
		func() error { _, err := client.UserGrantRole(ctx, "reader", "reading"); return err },
		func() error { _, err := client.AuthEnable(ctx); return err },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	at := func(who string) string { return "etcd://" + who + "@" + s.Address() }
	for _, url := range []string{s.URL(), at("reader:wrong")} {
		_, err := etcd.Open(ctx, url)
		of(t, err, storage.ErrInvalid, "")
		if strings.Contains(err.Error(), ":wrong") {
			t.Errorf("the password is in %v", err)
		}
	}
	reader := personWho(t, s, "reader", "se:cret")
	nested := clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpPut("holdfast/", "v")}, nil)
	if _, err := reader.Txn(ctx).Then(nested).Commit(); err == nil {
		lacks(t, s, "it does not check the rights of transactions inside transactions")
	}
	of(t, open(t, at("reader:se%3acret")).Mutate(ctx, add("row", "v")), storage.ErrInvalid, "permission denied")
	if err := open(t, at("root:secret")).Mutate(ctx, add("row", "v")); err != nil {
		t.Error(err)
	}
}

// TestOpenRefuses URLs that say what there is not, and what cannot be reached.
func TestOpenRefuses(t *testing.T) {
	s := realstore.StartEtcd(t)
	for url, says := range map[string]string{
		"etcd://one?timeout=0s":  "has timeout=0s",
		"etcd://one?ca=/a":       "has options that are not known",
		"etcd://one?tls&ca=/a":   "which cannot be read",
		"etcds://one?ca=/a":      "which cannot be read",
		"http://one":             "begins with none of etcd://, etcds://",
		"etcd://one,two?quorum=": "has options that are not known",
	} {
		_, err := etcd.Open(t.Context(), url)
		of(t, err, storage.ErrInvalid, says)
	}
	_, err := etcd.Open(t.Context(), "etcds://"+s.Address())
	of(t, err, storage.ErrRefused, "")
	s.Kill()
	_, err = etcd.Open(t.Context(), s.URL())
	of(t, err, storage.ErrRefused, "connection refused")
}

// TestAnswerLost: a caller that is not answered does not know, and what was asked for was
// done.
func TestAnswerLost(t *testing.T) {
	s := realstore.StartEtcd(t)
	proxy := realstore.NewProxy(t, s.Address())
	store, direct := open(t, s.URLAt(proxy.Address())), open(t, s.URL())
	for what, write := range map[string]func(ctx context.Context) error{
		"row": func(ctx context.Context) error { return store.Mutate(ctx, add("row", "v")) },
		"cell": func(ctx context.Context) error {
			_, err := store.Swap(ctx, &storage.Swap{Key: "cell", Column: "c", Absent: true, New: "v"})
			return err
		},
	} {
		await(t, what, func() bool { _, err := store.Slice(t.Context(), &storage.Slice{Key: what}); return err == nil })
		proxy.DropAnswers(true)
		ctx, cancel := context.WithTimeout(t.Context(), brief)
		of(t, write(ctx), storage.ErrUnknown, "deadline")
		cancel()
		await(t, what, func() bool { return value(t, direct, what) == "v" })
		proxy.DropAnswers(false)
		proxy.Cut() // what was dropped leaves the rest without sense
	}
	if proxy.Cuts() == 0 {
		t.Error("nothing was cut")
	}
}

// TestConnectionLost while a write is on its way: it is not known what has become of it. Where
// no server is there nothing was done; and when a server is there again, all goes on.
func TestConnectionLost(t *testing.T) {
	s := realstore.StartEtcd(t)
	proxy := realstore.NewProxy(t, s.Address())
	store, direct := open(t, s.URLAt(proxy.Address())), open(t, s.URL())
	proxy.Blackhole(true)
	ended := make(chan error, 1)
	go func() { ended <- store.Mutate(t.Context(), add("row", "v")) }()
	var err error
	await(t, "a cut", func() bool {
		proxy.Cut()
		select {
		case err = <-ended:
			return true
		default:
			return false
		}
	})
	if !errors.Is(err, storage.ErrUnknown) && !errors.Is(err, storage.ErrRefused) {
		t.Error(err)
	}
	if err := proxy.Refuse(true); err != nil {
		t.Fatal(err)
	}
	proxy.Blackhole(false)
	// A connection that the proxy's socket has taken while it closes is reset; the next one is refused.
	await(t, "refusal", func() bool {
		err = store.Mutate(t.Context(), add("other", "v"))
		return errors.Is(err, storage.ErrRefused) && strings.Contains(err.Error(), "connection refused")
	})
	if value(t, direct, "other") != "" {
		t.Error("what was refused is there")
	}
	if err := proxy.Refuse(false); err != nil {
		t.Fatal(err)
	}
	await(t, "reconnection", func() bool { return store.Mutate(t.Context(), add("other", "v")) == nil })
}

// TestTooLate: the end of a context, and of the time that the URL has set, end a request, and
// whether a write was done is not known.
func TestTooLate(t *testing.T) {
	s := realstore.StartEtcd(t)
	store, hasty := open(t, s.URL()), open(t, s.URL()+"?timeout=100ms")
	s.Pause()
	defer s.Resume()
	ctx, cancel := context.WithTimeout(t.Context(), brief)
	defer cancel()
	of(t, store.Mutate(ctx, add("row", "v")), storage.ErrUnknown, context.DeadlineExceeded.Error())
	of(t, hasty.Mutate(t.Context(), add("row", "v")), storage.ErrUnknown, context.DeadlineExceeded.Error())
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(brief, cancel)
	of(t, store.Mutate(ctx, add("row", "v")), storage.ErrUnknown, context.Canceled.Error())
	_, err := hasty.Slice(t.Context(), &storage.Slice{Key: "row"})
	of(t, err, storage.ErrRefused, context.DeadlineExceeded.Error())
}

// TestCloseEndsAll that is under way, although the server says nothing.
func TestCloseEndsAll(t *testing.T) {
	s := realstore.StartEtcd(t)
	store := open(t, s.URL()+"?timeout=1m")
	if err := store.Watch(t.Context(), "row", func() {}); err != nil {
		t.Fatal(err)
	}
	s.Pause()
	defer s.Resume()
	ended := make(chan error, 1)
	go func() { ended <- store.Mutate(t.Context(), add("row", "v")) }()
	if err := store.Close(); err != nil {
		t.Error(err)
	}
	// It was sent before Close, or comes after it.
	if err := <-ended; !errors.Is(err, storage.ErrUnknown) && !errors.Is(err, storage.ErrInvalid) {
		t.Error(err)
	}
}

// TestLeasesAreShared by columns whose TTL is about the same, and one that the server does not
// know any more is replaced.
func TestLeasesAreShared(t *testing.T) {
	s := realstore.StartEtcd(t)
	store, client := open(t, s.URL()), person(t, s)
	write := func(row int, ttl time.Duration) {
		t.Helper()
		m := add(fmt.Sprint("row ", row), "v")
		m.TTL = ttl
		if err := store.Mutate(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 40 {
		write(i, time.Hour+time.Duration(i)*time.Second)
	}
	leases, err := client.Leases(t.Context())
	if err != nil || len(leases.Leases) != 1 {
		t.Fatalf("%v, %v; want one", leases, err)
	}
	left, err := client.TimeToLive(t.Context(), leases.Leases[0].ID, clientv3.WithAttachedKeys())
	if err != nil || left.TTL < 3600 || left.TTL > 2*3600 || len(left.Keys) != 40 {
		t.Errorf("%v, %v", left, err)
	}
	if _, err := client.Revoke(t.Context(), leases.Leases[0].ID); err != nil {
		t.Fatal(err)
	}
	write(1, time.Hour)
	if got := value(t, store, "row 1"); got != "v" {
		t.Errorf("%q", got)
	}
	// One that is written again without an end stays.
	m := add("row 1", "w")
	if err := store.Mutate(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	got, err := client.Get(t.Context(), "holdfast/", clientv3.WithPrefix())
	if err != nil || len(got.Kvs) != 1 || got.Kvs[0].Lease != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestWatchSurvives a server that starts again, and one that has forgotten what was meanwhile.
func TestWatchSurvives(t *testing.T) {
	s := realstore.StartEtcd(t)
	proxy := realstore.NewProxy(t, s.Address())
	store, direct, client := open(t, s.URLAt(proxy.Address())), open(t, s.URL()), person(t, s)
	notified := make(chan struct{}, 1)
	err := store.Watch(t.Context(), "row", func() {
		select {
		case notified <- struct{}{}:
		default:
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	hear := func(what string) {
		t.Helper()
		select {
		case <-notified:
		case <-time.After(patience):
			t.Fatalf("%s: no watcher is notified", what)
		}
	}
	swap := func(column string) {
		t.Helper()
		await(t, column, func() bool {
			swapped, err := direct.Swap(t.Context(), &storage.Swap{Key: "row", Column: column, Absent: true, Notify: true})
			return err == nil && (swapped.Done || swapped.Present)
		})
	}
	hear("the beginning")
	swap("one")
	hear("a swap")
	s.Kill()
	s.Restart()
	swap("after the restart")
	hear("a swap after a restart")
	if err := proxy.Refuse(true); err != nil {
		t.Fatal(err)
	}
	swap("unheard")
	swap("unheard, too")
	got, err := client.Get(t.Context(), "any")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Compact(t.Context(), got.Header.Revision); err != nil {
		t.Fatal(err)
	}
	if err := proxy.Refuse(false); err != nil {
		t.Fatal(err)
	}
	hear("compaction")
	swap("the last")
	hear("a swap after compaction")
}
