package events

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/hashicorp/memberlist.(*Memberlist).probeNode"))
}

// observe lets a source see one decision in its first space.
func observe(s *Source, d lock.Decision) {
	s.Observe(&protocol.Effects{Replies: []protocol.Reply{{Port: 1, Decision: d}}})
}

// grant lets a name be granted and released.
func grant(s *Source, name string, token holdfast.Token) {
	observe(s, lock.Decision{Kind: lock.Granted, Name: name, Token: token, Since: 1})
	observe(s, lock.Decision{Kind: lock.Released, Name: name, Token: token, Since: 1})
}

// see lets a source see a view of members with these ids.
func see(s *Source, number uint64, ids ...protocol.ID) {
	view := &protocol.View{Number: number}
	for _, id := range ids {
		view.Members = append(view.Members, protocol.Member{ID: id, Name: name(id), Address: name(id)})
	}
	s.Observe(&protocol.Effects{Raises: []any{view}})
}

// name names a member: 1 is a.
func name(id protocol.ID) string { return string(rune('a' + id - 1)) }

// network is other members, which Follow asks.
type network struct {
	mu    sync.Mutex
	other map[protocol.ID]*other
}

type other struct {
	source   *Source
	process  uint64
	down     bool
	followed []Filter // who is followed now
	cut      context.CancelCauseFunc
}

func newNetwork(ids ...protocol.ID) *network {
	n := &network{other: map[protocol.ID]*other{}}
	for _, id := range ids {
		n.restart(id)
	}
	return n
}

// restart begins a new life of a member.
func (n *network) restart(id protocol.ID) *Source {
	n.mu.Lock()
	defer n.mu.Unlock()
	process := uint64(1)
	if before := n.other[id]; before != nil {
		process += before.process
	}
	n.other[id] = &other{source: NewSource([]string{"default"}), process: process}
	return n.other[id].source
}

// life is the source of a member in its present life.
func (n *network) life(id protocol.ID) *Source {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.other[id].source
}

// sever cuts a member off, or joins it again.
func (n *network) sever(id protocol.ID, down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	one := n.other[id]
	one.down = down
	if one.cut != nil {
		one.cut(errors.New("cut"))
	}
}

// questions returns what a member is asked now.
func (n *network) questions(id protocol.ID) []Filter {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]Filter(nil), n.other[id].followed...)
}

func (n *network) Follow(ctx context.Context, id protocol.ID, address string, interest *schema.MemberInterest, take func(*schema.MemberEvents)) error {
	n.mu.Lock()
	one := n.other[id]
	if one == nil || one.down || address != name(id) {
		n.mu.Unlock()
		late, done := context.WithTimeout(ctx, time.Second)
		defer done()
		<-late.Done()
		return errors.New("no member answers")
	}
	ctx, one.cut = context.WithCancelCause(ctx)
	want := Filter{interest.GetSpace(), interest.GetPrefix()}
	one.followed = append(one.followed, want)
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		for i, filter := range one.followed {
			if filter == want {
				one.followed = append(one.followed[:i:i], one.followed[i+1:]...)
				break
			}
		}
	}()
	welcome := &schema.MemberHello{Process: one.process}
	err := one.source.Stream(ctx, interest, func(m *schema.MemberEvents) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		m.Welcome, welcome = welcome, nil
		take(m)
		return nil
	})
	return err
}

// harness is member a, with its watchers.
type harness struct {
	*testing.T
	*network
	own *Source
	*Gatherer
}

func newHarness(t *testing.T, others ...protocol.ID) *harness {
	t.Helper()
	b := &harness{T: t, network: newNetwork(others...), own: NewSource([]string{"default"})}
	var err error
	if b.Gatherer, err = NewGatherer(Config{Source: b.own, Self: 1, Peers: b.network}); err != nil {
		t.Fatal(err)
	}
	return b
}

// watch begins to watch.
func (b *harness) watch(space, prefix string) *Feed {
	b.Helper()
	f, err := b.Watch(b.Context(), Filter{space, prefix}, "", "a", 100)
	if err != nil {
		b.Fatal(err)
	}
	return f
}

// linesOf returns what a feed has had, a line for each event.
func linesOf(f *Feed) (lines []string) {
	f.source.mu.Lock()
	f.source.hand()
	f.source.mu.Unlock()
	for _, item := range flat(f.take().batches) {
		lines = append(lines, line(item.WatchEvent))
	}
	return lines
}

func line(e *schema.WatchEvent) string {
	switch {
	case e.Until != nil:
		return fmt.Sprintf("%s missing from %.3f until %.3f", e.Member, stamp(e.Since), stamp(e.Until))
	case e.Since != nil:
		return fmt.Sprintf("%s missing from %.3f", e.Member, stamp(e.Since))
	case e.Event == View:
		return e.Member + " view"
	}
	return fmt.Sprintf("%s %s %s %v", e.Member, e.Event, e.Name, uint64(e.Token))
}

// stamp is a time in seconds since a test has begun, in a bubble.
func stamp(t *timestamppb.Timestamp) float64 {
	return t.AsTime().Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).Seconds()
}
