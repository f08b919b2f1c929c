package redis_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/test/realstore"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/redis"
)

// patience bounds what a test waits for.
const patience = 20 * time.Second

// console sends commands to a server, as a person would.
type console struct {
	t          *testing.T
	connection net.Conn
	answers    *bufio.Reader
}

func newConsole(t *testing.T, s *realstore.Server) *console {
	t.Helper()
	connection, err := net.Dial("tcp", s.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	return &console{t, connection, bufio.NewReader(connection)}
}

// send sends one command without waiting for its answer.
func (c *console) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.connection, line+"\r\n"); err != nil {
		c.t.Fatal(err)
	}
}

// do sends one command, and returns the first line of the answer.
func (c *console) do(line string) string {
	c.t.Helper()
	c.send(line)
	answer, err := c.answers.ReadString('\n')
	if err != nil {
		c.t.Fatalf("%s: %v", line, err)
	}
	return strings.TrimSpace(answer)
}

func (c *console) want(line, want string) {
	c.t.Helper()
	if got := c.do(line); got != want {
		c.t.Fatalf("%s: %q, want %q", line, got, want)
	}
}

func add(key, column, value string) *storage.Mutate {
	return &storage.Mutate{Key: key, Additions: []storage.Entry{{Column: column, Value: value}}, Timestamp: 1}
}

// column reads the column c of a row.
func column(t *testing.T, store storage.Store, key string) (value string, there bool) {
	t.Helper()
	entries, err := store.Slice(t.Context(), &storage.Slice{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Column == "c" {
			return e.Value, true
		}
	}
	return "", false
}

// of fails where an error is not of a kind, or does not have the text.
func of(t *testing.T, err, kind error, text string) {
	t.Helper()
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), text) {
		t.Errorf("%v; want the kind %q, and %q in it", err, kind, text)
	}
}

// TestServerRefuses: what the server does not do, for now, is refused and nothing of it done.
func TestServerRefuses(t *testing.T) {
	s := realstore.StartRedis(t)
	store, person := open(t, s.URL()), newConsole(t, s)
	for _, c := range []struct{ before, after, says string }{
		{"CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", "OOM"},
		{"CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0", "NOREPLICAS"},
		{"REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "READONLY"},
	} {
		person.want(c.before, "+OK")
		of(t, store.Mutate(t.Context(), add("row", "c", c.says)), storage.ErrRefused, c.says)
		_, err := store.Swap(t.Context(), &storage.Swap{Key: "cell", Column: "c", Absent: true, New: "v"})
		of(t, err, storage.ErrRefused, c.says)
		person.want(c.after, "+OK")
		person.want("EXISTS holdfast:row holdfast:cell", ":0")
	}
	if err := store.Mutate(t.Context(), add("row", "c", "v")); err != nil {
		t.Error(err)
	}
}

// TestServerIsBusy with a script that does not end.
func TestServerIsBusy(t *testing.T) {
	s := realstore.StartRedis(t, "--busy-reply-threshold", "1")
	store, endless, person := open(t, s.URL()), newConsole(t, s), newConsole(t, s)
	endless.send(`EVAL "while true do end" 0`)
	for !strings.HasPrefix(person.do("PING"), "-BUSY") {
	}
	of(t, store.Mutate(t.Context(), add("row", "c", "v")), storage.ErrRefused, "BUSY")
	person.want("SCRIPT KILL", "+OK")
	// Refused requests are tried again where the URL says so, and so this one is done.
	if err := open(t, s.URL()+"?retries=10").Mutate(t.Context(), add("row", "c", "v")); err != nil {
		t.Error(err)
	}
}

// TestMistakes: the error of what will never be done says so.
func TestMistakes(t *testing.T) {
	s := realstore.StartRedis(t)
	store, person := open(t, s.URL()), newConsole(t, s)
	if _, err := store.Swap(t.Context(), &storage.Swap{Key: "cell", Column: "c", Absent: true, New: "v"}); err != nil {
		t.Fatal(err)
	}
	of(t, store.Mutate(t.Context(), add("cell", "c", "v")), storage.ErrInvalid, "WRONGTYPE")
	if err := store.Mutate(t.Context(), add("row", "c", "v")); err != nil {
		t.Fatal(err)
	}
	_, err := store.Swap(t.Context(), &storage.Swap{Key: "row", Column: "c", Absent: true, New: "v"})
	of(t, err, storage.ErrInvalid, "WRONGTYPE")
	person.want("ZADD holdfast:foreign 0 something", ":1")
	_, err = store.Slice(t.Context(), &storage.Slice{Key: "foreign"})
	of(t, err, storage.ErrInvalid, "that this driver has not written")

	// A row of each kind is read whichever it is taken for.
	for _, key := range []string{"cell", "row"} {
		for _, serial := range []bool{false, true} {
			entries, err := store.Slice(t.Context(), &storage.Slice{Key: key, Serial: serial})
			if err != nil || len(entries) != 1 || entries[0] != (storage.Entry{Column: "c", Value: "v"}) {
				t.Errorf("%s, serial %v: %q, %v", key, serial, entries, err)
			}
		}
	}
}

// TestWhoMayNot: a wrong password, none, and rights that are not enough. No error has the
// password.
func TestWhoMayNot(t *testing.T) {
	s := realstore.StartRedis(t)
	person := newConsole(t, s)
	person.want("ACL SETUSER reader on >se:cret ~* +@read +@connection +client", "+OK")
	person.want("CONFIG SET requirepass right", "+OK")
	at := func(who string) string { return "redis://" + who + "@" + s.Address() }
	for url, says := range map[string]string{s.URL(): "NOAUTH", at(":wrong"): "WRONGPASS", at("reader:wrong"): "WRONGPASS"} {
		_, err := redis.Open(t.Context(), url)
		of(t, err, storage.ErrInvalid, says)
		if strings.Contains(err.Error(), "wrong@") || strings.Contains(err.Error(), ":wrong") {
			t.Errorf("the password is in %v", err)
		}
	}
	of(t, open(t, at("reader:se%3acret")).Mutate(t.Context(), add("row", "c", "v")), storage.ErrInvalid, "NOPERM")
	if err := open(t, at(":right")).Mutate(t.Context(), add("row", "c", "v")); err != nil {
		t.Error(err)
	}
}

// TestOpenRefuses what cannot keep rows, and URLs that say what there is not.
func TestOpenRefuses(t *testing.T) {
	cluster, replica := realstore.StartRedis(t, "--cluster-enabled", "yes"), realstore.StartRedis(t, "--replicaof", "127.0.0.1 1")
	for url, says := range map[string]string{
		cluster.URL():               "the server is in mode cluster; standalone is allowed",
		replica.URL():               "give the address of its primary",
		"redis://one,two":           "one is allowed, which is the primary",
		"redis://one/first":         "the number of a database",
		"redis://one?timeout=0s":    "has timeout=0s",
		"redis://one?ca=/a":         "has options that are not known",
		"rediss://one?ca=/nowhere":  "which cannot be read",
		"http://one":                "begins with none of redis://, rediss://",
		"redis://one?prefix=a&b=c#": "has options that are not known",
	} {
		_, err := redis.Open(t.Context(), url)
		of(t, err, storage.ErrInvalid, says)
	}
	proxy := realstore.NewProxy(t, replica.Address())
	if err := proxy.Refuse(true); err != nil {
		t.Fatal(err)
	}
	_, err := redis.Open(t.Context(), "redis://"+proxy.Address())
	of(t, err, storage.ErrRefused, "connection refused")
}

// proxied opens a store through a proxy.
func proxied(t *testing.T, options string) (*realstore.Server, *realstore.Proxy, *redis.Store) {
	t.Helper()
	s := realstore.StartRedis(t)
	proxy := realstore.NewProxy(t, s.Address())
	return s, proxy, open(t, s.URLAt(proxy.Address())+options)
}

// TestAnswerLost: a caller that is not answered does not know, and what was asked for was done,
// once.
func TestAnswerLost(t *testing.T) {
	s, proxy, store := proxied(t, "?retries=3")
	direct := open(t, s.URL())
	swap := func(column string) error {
		_, err := store.Swap(t.Context(), &storage.Swap{Key: "cell", Column: column, Absent: true, New: "v"})
		return err
	}
	mutate := func(column string) error { return store.Mutate(t.Context(), add("row", column, "v")) }
	for what, write := range map[string]func(column string) error{"row": mutate, "cell": swap} {
		// A connection that was cut is found to be so by the next request that uses it, and
		// requests take any of them; and the server knows the script from here on, so that
		// the write is one request.
		for range 32 {
			await(t, what, func() bool { return write("before") == nil })
		}
		cuts := proxy.Cuts()
		proxy.CutAnswers(0)
		of(t, write("c"), storage.ErrUnknown, "")
		if proxy.Cuts() == cuts {
			t.Errorf("%s: nothing was cut", what)
		}
		if value, there := column(t, direct, what); value != "v" || !there {
			t.Errorf("%s: %q, %v", what, value, there)
		}
	}
	proxy.CutAnswers(0)
	if _, err := store.Slice(t.Context(), &storage.Slice{Key: "row"}); err != nil {
		t.Errorf("a read is tried again: %v", err)
	}
}

// await tries until something holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for again := time.NewTicker(time.Millisecond); ; {
		if holds() {
			again.Stop()
			return
		}
		select {
		case <-again.C:
		case <-limit.C:
			t.Fatalf("%s: it does not come to pass", what)
		}
	}
}

// TestNoServer: where no connection comes about nothing was done.
func TestNoServer(t *testing.T) {
	s, proxy, store := proxied(t, "")
	if err := proxy.Refuse(true); err != nil {
		t.Fatal(err)
	}
	// The connections that there were are found broken first, and then the outcome is not
	// known.
	for range 32 {
		var err error
		await(t, "refusal", func() bool {
			err = store.Mutate(t.Context(), add("row", "c", "v"))
			return errors.Is(err, storage.ErrRefused)
		})
		of(t, err, storage.ErrRefused, "connection refused")
	}
	newConsole(t, s).want("EXISTS holdfast:row", ":0")
	if err := proxy.Refuse(false); err != nil {
		t.Fatal(err)
	}
	await(t, "reconnection", func() bool { return store.Mutate(t.Context(), add("row", "c", "v")) == nil })
}

// TestTooLate: the end of a context, and of the time that the URL has set, end a request, and
// whether a write was done is not known.
func TestTooLate(t *testing.T) {
	s := realstore.StartRedis(t)
	store, brief := open(t, s.URL()), open(t, s.URL()+"?timeout=50ms")
	s.Pause()
	for what, late := range map[string]struct {
		store *redis.Store
		ctx   func() (context.Context, context.CancelFunc)
		cause error
	}{
		"deadline": {store, func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), 50*time.Millisecond)
		}, context.DeadlineExceeded},
		"cancel": {store, func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(50*time.Millisecond, cancel)
			return ctx, cancel
		}, context.Canceled},
		// The connection's own end may come first.
		"timeout": {brief, func() (context.Context, context.CancelFunc) { return context.WithCancel(t.Context()) }, nil},
	} {
		t.Run(what, func(t *testing.T) {
			ctx, cancel := late.ctx()
			defer cancel()
			err := late.store.Mutate(ctx, add("row", "c", "v"))
			of(t, err, storage.ErrUnknown, "")
			if late.cause != nil {
				of(t, err, late.cause, "")
			}
			ctx, cancel = late.ctx()
			defer cancel()
			_, err = late.store.Slice(ctx, &storage.Slice{Key: "row"})
			of(t, err, storage.ErrRefused, "")
			if late.cause != nil {
				of(t, err, late.cause, "")
			}
		})
	}
	s.Resume()
}

// TestCloseEndsAll that is under way, although the server says nothing.
func TestCloseEndsAll(t *testing.T) {
	s := realstore.StartRedis(t)
	store := open(t, s.URL()+"?timeout=1m")
	if err := store.Watch(t.Context(), "row", func() {}); err != nil {
		t.Fatal(err)
	}
	s.Pause()
	ended := make(chan error, 1)
	go func() { ended <- store.Mutate(t.Context(), add("row", "c", "v")) }()
	if err := store.Close(); err != nil {
		t.Error(err)
	}
	// It was sent before Close, or comes after it.
	if err := <-ended; !errors.Is(err, storage.ErrUnknown) && !errors.Is(err, storage.ErrInvalid) {
		t.Error(err)
	}
}

// TestScriptsForgotten by the server are sent to it again.
func TestScriptsForgotten(t *testing.T) {
	s := realstore.StartRedis(t)
	store, person := open(t, s.URL()), newConsole(t, s)
	for range 3 {
		if err := store.Mutate(t.Context(), add("row", "c", "v")); err != nil {
			t.Error(err)
		}
		person.want("SCRIPT FLUSH", "+OK")
	}
}

// TestWatchSurvives a cut, and a server that starts again: the watchers are notified, and of what
// comes then, too.
func TestWatchSurvives(t *testing.T) {
	s, proxy, store := proxied(t, "")
	direct := open(t, s.URL())
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
	await := func(what string) {
		t.Helper()
		select {
		case <-notified:
		case <-time.After(patience):
			t.Fatalf("%s: no watcher is notified", what)
		}
	}
	await("the beginning")
	stamp := int64(0) // what changes nothing causes no notice
	for what, hurt := range map[string]func(){
		"cut":     proxy.Cut,
		"restart": func() { s.Kill(); s.Restart() },
		"flush":   func() { newConsole(t, s).want("FLUSHALL", "+OK") },
	} {
		hurt()
		await(what)
		for {
			m := add("row", "c", "v")
			stamp++
			m.Timestamp = stamp
			if err := direct.Mutate(t.Context(), m); err == nil {
				break
			} else if !errors.Is(err, storage.ErrUnknown) && !errors.Is(err, storage.ErrRefused) {
				t.Fatal(err)
			}
		}
		await("a write after the " + what)
	}
	if proxy.Cuts() == 0 {
		t.Error("nothing was cut")
	}
}

// TestRowsEnd where all of their columns do, and lose what has ended where one stays.
func TestRowsEnd(t *testing.T) {
	s := realstore.StartRedis(t)
	store, person := open(t, s.URL()), newConsole(t, s)
	write := func(key, column string, ttl time.Duration, stamp int64) {
		t.Helper()
		m := &storage.Mutate{Key: key, Additions: []storage.Entry{{Column: column}}, TTL: ttl, Timestamp: stamp}
		if err := store.Mutate(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	write("row", "a", time.Second, 1)
	person.want("EXPIRETIME holdfast:never", ":-2")
	if left := person.do("PTTL holdfast:row"); left == ":-1" || left == ":-2" {
		t.Errorf("a row of which all columns end does not: %s", left)
	}
	write("row", "c", 0, 1)
	person.want("PTTL holdfast:row", ":-1")
	await(t, "the end of a column", func() bool {
		entries, err := store.Slice(t.Context(), &storage.Slice{Key: "row", Limit: 1})
		return err == nil && len(entries) == 1 && entries[0].Column == "c"
	})
	person.want("ZCARD holdfast:row", ":2")
	write("row", "d", time.Minute, 1)
	person.want("ZCARD holdfast:row", ":2")
	// One that lasts as long as numbers go does not end.
	write("long", "a", 1<<63-1, 1)
	person.want("PTTL holdfast:long", ":-1")
}
