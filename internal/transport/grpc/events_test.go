package grpc

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/transport"
)

// publishing starts a member that tells others what comes on a channel, until it is closed.
func publishing(t *testing.T, happened <-chan *schema.MemberEvents, change func(*Config)) *peerHarness {
	t.Helper()
	return startPublishing(t, func(ctx context.Context, interest *schema.MemberInterest, send func(*schema.MemberEvents) error) error {
		first := &schema.MemberEvents{At: 1, Events: []*schema.MemberEvent{{Space: interest.GetSpace(), Name: interest.GetPrefix()}}}
		if err := send(first); err != nil {
			return err
		}
		for {
			select {
			case m, open := <-happened:
				if !open {
					return nil
				}
				if err := send(m); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}, change)
}

func startPublishing(t *testing.T, publisher Publisher, change func(*Config)) *peerHarness {
	t.Helper()
	l := listenAgain(t, "127.0.0.1:0")
	b := prepare(t, identityAt(2, l), change)
	if publisher != nil {
		b.PublishEvents(publisher)
	}
	go func() { b.served <- b.Serve(l) }()
	t.Cleanup(b.stop)
	b.Listen(b.inbox.deliver)
	return b
}

// follow asks b, and returns what it tells, and why that has ended.
func follow(ctx context.Context, a, b *peerHarness) (<-chan *schema.MemberEvents, <-chan error) {
	received, ended := make(chan *schema.MemberEvents, 10), make(chan error, 1)
	go func() {
		interest := &schema.MemberInterest{Space: "s", Prefix: "p"}
		ended <- a.Follow(ctx, b.identity.ID, b.identity.Address, interest, func(m *schema.MemberEvents) { received <- m })
	}()
	return received, ended
}

func TestFollow(t *testing.T) {
	happened := make(chan *schema.MemberEvents)
	a, b := start(t, 1, nil), publishing(t, happened, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	received, ended := follow(ctx, a, b)
	first := <-received
	if hello := first.GetWelcome(); hello.GetId() != 2 || hello.GetProcess() == 0 || first.GetEvents()[0].GetSpace() != "s" || first.GetEvents()[0].GetName() != "p" {
		t.Errorf("the first is %v", first)
	}
	happened <- &schema.MemberEvents{At: 2}
	if next := <-received; next.GetAt() != 2 || next.GetWelcome() != nil {
		t.Errorf("the next is %v", next)
	}
	again, overAgain := follow(ctx, a, b)
	<-again
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := <-overAgain; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}

	third, over := follow(t.Context(), a, b)
	<-third
	close(happened)
	if err := <-over; err != nil {
		t.Errorf("the member has ended it in good order: %v", err)
	}
}

// TestFollowEndsWithTheMember: with the end of its transport, and with the end of the
// asker's.
func TestFollowEndsWithTheMember(t *testing.T) {
	for _, ends := range []string{"teller", "asker"} {
		t.Run(ends, func(t *testing.T) {
			a, b := start(t, 1, nil), publishing(t, make(chan *schema.MemberEvents), nil)
			received, ended := follow(t.Context(), a, b)
			<-received
			if ends == "teller" {
				b.stop()
			} else {
				a.stop()
			}
			if err := <-ended; err == nil {
				t.Error("it ended in good order")
			}
		})
	}
}

// TestSlowFollowerBlocksNoMember: events for one that does not read fill no more than
// the network's buffers, the link goes on, and the end of either side ends it.
func TestSlowFollowerBlocksNoMember(t *testing.T) {
	blocked := make(chan struct{})
	a := start(t, 1, nil)
	b := startPublishing(t, func(_ context.Context, _ *schema.MemberInterest, send func(*schema.MemberEvents) error) error {
		m := &schema.MemberEvents{Events: []*schema.MemberEvent{{Why: strings.Repeat("x", 64<<10)}}}
		for {
			if err := send(m); err != nil {
				return err // it blocks until the stream ends
			}
		}
	}, nil)
	ended := make(chan error, 1)
	begun := make(chan struct{})
	go func() {
		ended <- a.Follow(t.Context(), 2, b.identity.Address, &schema.MemberInterest{}, func(m *schema.MemberEvents) {
			if m.GetWelcome() != nil {
				close(begun)
			}
			<-blocked
		})
	}()
	<-begun
	meet(t, a, b)
	b.stop()
	close(blocked)
	if err := <-ended; err == nil {
		t.Error("a member that was closed has ended in good order")
	}
}

// TestWhoIsNotFollowed: an address without a member, a member that tells nothing, one
// with another id, one of another cluster, and one that begins with something else than
// a welcome.
func TestWhoIsNotFollowed(t *testing.T) {
	a := start(t, 1, nil)
	mute := startPublishing(t, nil, nil)
	_, ended := follow(t.Context(), a, mute)
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "does not tell") {
		t.Errorf("a member that publishes no events: %v", err)
	}
	if err := a.Follow(t.Context(), 9, mute.identity.Address, &schema.MemberInterest{}, nil); err == nil || !strings.Contains(err.Error(), "member 0000000000000002 is there") {
		t.Errorf("another member: %v", err)
	}
	hasty := start(t, 4, func(c *Config) { c.Deadline = 20 * time.Millisecond })
	if err := hasty.Follow(t.Context(), 9, "127.0.0.1:1", &schema.MemberInterest{}, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no member: %v", err)
	}
	full := publishing(t, make(chan *schema.MemberEvents), func(c *Config) { c.Peers = 1 })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := start(t, 3, nil)
	received, _ := follow(ctx, c, full)
	<-received
	_, refused := follow(ctx, c, full)
	if err := <-refused; err == nil || !strings.Contains(err.Error(), "open already") {
		t.Errorf("more streams than there may be: %v", err)
	}
	stranger := a.hello("")
	stranger.Cluster++
	if err := full.enterWatch(t.Context(), &schema.MemberInterest{Hello: stranger}); err == nil || !strings.Contains(err.Error(), "cluster") {
		t.Errorf("a stranger: %v", err)
	}
	if err := full.enterWatch(t.Context(), &schema.MemberInterest{}); err == nil {
		t.Error("a member that does not greet gets events")
	}
	full.counts.await(t, "refused "+transport.Limit, 1)
}
