package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api/snapshot"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/protocol"
)

// serveGuest serves a guest of a cluster, which has no folder and defines no space, and waits until it is ready.
func serveGuest(t *testing.T, all []*served) *served {
	t.Helper()
	guest := &served{address: "unix://" + t.TempDir() + "/guest"}
	guest.config = host.Config{
		Name: "guest", Address: guest.address, Join: all[0].config.Join, Serves: true, Patience: all[0].config.Patience,
		TTL: suiteTTL(), Limits: all[0].config.Limits,
	}
	guest.start(t, guest.config)
	t.Cleanup(func() { guest.stop(t) })
	ctx, done := context.WithTimeout(t.Context(), time.Minute)
	defer done()
	if err := guest.node.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	return guest
}

// passesOnTo waits until the guest passes on to each of some members, whose spaces it has taken.
func passesOnTo(t *testing.T, guest *served, all []*served) {
	t.Helper()
	if ours, theirs := guest.node.Spaces(), all[0].node.Spaces(); guest.config.Data != "" || len(ours) != len(theirs) {
		t.Fatalf("it has the folder %q and the spaces %+v; want none and %+v", guest.config.Data, ours, theirs)
	}
	ctx, done := context.WithTimeout(t.Context(), time.Minute)
	defer done()
	for len(guest.node.Insiders()) != len(all) {
		if _, err := guest.node.Who(ctx); err != nil { // as long as a step takes
			t.Fatalf("it passes on to %q; want %d members: %v", guest.node.Insiders(), len(all), err)
		}
	}
}

// TestGuestsAreConstant: locks in a space in memory, in a cluster with a durable one, end with the session's member. A client
// that comes back through a guest is passed on to that member, each time.
func TestGuestsAreConstant(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	all := serveClusterWith(t, []host.Space{{Name: "default", Protocol: "consensus"}, {Name: "billing"}}, steady)
	guest := serveGuest(t, all)
	way := counted(t, guest)
	var held []*holdfast.Lock
	for i := range 4 {
		c, err := client.Dial(t.Context(), way.target, client.TTL(suiteTTL()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		held = append(held, lock(t, c.Space("billing"), fmt.Sprint("x", i)))
	}
	for range 3 {
		before := way.made.Load()
		way.sever(true)
		way.sever(false)
		for _, l := range held {
			if err := l.Extend(t.Context(), time.Minute); err != nil {
				t.Fatalf("%s: %v", l.Name(), err)
			}
		}
		if way.made.Load() == before {
			t.Error("no client has come back")
		}
	}

	// A request with an id acts once, however often it is made through the guest.
	admin, err := client.DialAdmin(guest.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { admin.Close() })
	var first holdfast.Token
	for range 6 {
		got, err := admin.Acquire(t.Context(), "default", client.Acquisition{Names: []string{"once"}, Request: "the same", TTL: time.Minute})
		switch {
		case err != nil:
			t.Fatal(err)
		case first == 0:
			first = holdfast.Token(got.Locks[0].Token)
		case holdfast.Token(got.Locks[0].Token) != first:
			t.Errorf("token %v follows %v", got.Locks[0].Token, first)
		}
	}
}

// serveHTTP serves a member's HTTP API, too, and returns its URL.
func serveHTTP(t *testing.T, s *served) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.server.AcceptHTTP(listener) }()
	t.Cleanup(func() {
		if err := errors.Join(s.server.Shutdown(context.Background()), <-ended); err != nil {
			t.Error(err)
		}
	})
	return "http://" + listener.Addr().String()
}

// post returns the answer to a request that has a document.
func post(ctx context.Context, t *testing.T, url, document string) (status int, answer string) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(read)
}

// TestOperatorsThroughAGuest: what operators ask of a durable space is passed on to members that have a part, over HTTP, too.
func TestOperatorsThroughAGuest(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	all := serveClusterOf(t, "consensus", steady)
	guest := serveGuest(t, all)
	passesOnTo(t, guest, all)
	ctx, done := context.WithTimeout(t.Context(), time.Minute)
	defer done()
	admin, err := client.DialAdmin(guest.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { admin.Close() })
	web := serveHTTP(t, guest)
	for _, to := range []string{"a", "b"} {
		status, answer := post(ctx, t, web+"/v1/spaces/default/transfer", fmt.Sprintf(`{"member": %q}`, to))
		if status != http.StatusOK || !strings.Contains(answer, fmt.Sprintf(`"authority":[%q]`, to)) {
			t.Errorf("transfer to %s: %d %s", to, status, answer)
		}
		shards, err := admin.Shards(ctx, "default")
		if err != nil || len(shards.Shards) != 1 || shards.Shards[0].Leader != to {
			t.Errorf("%s leads %+v: %v", to, shards, err)
		}
	}
	lock(t, dial(t, guest, client.TTL(suiteTTL())), "held")
	var file bytes.Buffer
	if err := admin.Snapshot(ctx, "default", &file); err != nil {
		t.Fatal(err)
	}
	if saved, err := snapshot.Read(&file); err != nil || saved.Holds != 1 || saved.Member == "guest" {
		t.Errorf("the snapshot has %+v: %v", saved, err)
	}
	shards, err := admin.Reform(ctx, "default", "c", protocol.Nonmember.String())
	if err != nil || !slices.Equal(shards.Shards[0].Voters, []string{"a", "b"}) {
		t.Errorf("without c %+v vote: %v", shards, err)
	}
}

// deadlineBeforeInsiders: the first lock of a session needs a connection to a member that has a part. A deadline that passes
// before that is the call's error, and the connecting goes on.
func deadlineBeforeInsiders(t *testing.T, locks holdfast.Locker) {
	t.Helper()
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	if _, err := locks.Lock(ctx, "late"); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, holdfast.ErrUnavailable) ||
		!strings.Contains(err.Error(), "has no part in the space, and is not connected to unix://") {
		t.Errorf("without a connection to a member that has a part: %v", err)
	}
	if err := lock(t, locks, "late").Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	if err := locks.Close(); err != nil {
		t.Error(err)
	}
}

// TestConformanceThroughAGuest: the suite of every Locker through a guest that has no folder, in spaces that are kept on
// disks. It has taken their definitions from the others. Its own clients' streams are passed on; and what the process itself
// locks is locked at the others.
func TestConformanceThroughAGuest(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	for _, embedded := range []bool{false, true} {
		name := "served"
		if embedded {
			skipShort(t)
			name = "embedded"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := serveClusterOf(t, "consensus", steady)
			guest := serveGuest(t, all)
			passesOnTo(t, guest, all)
			open := (&others{members: []*served{guest}}).open
			if embedded {
				open = func(tb testing.TB) holdfast.Locker {
					locks, err := guest.node.Session(context.Background())
					if err != nil {
						tb.Fatal(err)
					}
					return locks
				}
			}
			if embedded {
				deadlineBeforeInsiders(t, open(t))
			}
			conformsWith(t, "consensus", all[0], &others{members: all}, open)

			// One that leaves waits for no client: it goes on at another member, with what it holds.
			c, err := client.Dial(t.Context(), guest.address, client.TTL(suiteTTL()))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			kept := lock(t, c, "kept")
			if err := guest.server.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := kept.Extend(t.Context(), time.Minute); err != nil {
				t.Error(err)
			}
		})
	}
}
