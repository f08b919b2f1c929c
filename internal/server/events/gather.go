package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/protocol"
)

// gatherings is the maximum number of different subscriptions to other members at once, besides the one for all events.
const gatherings = 8

// Peers subscribes to the events of other members' clients.
type Peers interface {
	// Follow passes the messages of the member with this id to take, one after the other, the welcome first. It returns
	// the reason for the end; nil means that the member has ended it. It ends when ctx ends, when the member cannot be
	// reached within a second or two, or when nothing has come for some Beats.
	Follow(ctx context.Context, id protocol.ID, address string, interest *schema.MemberInterest, take func(*schema.MemberEvents)) error
}

// Config configures a Gatherer. Source is required.
type Config struct {
	// Source has the events of this member's own clients, and its views.
	Source *Source
	// Self is this member's id.
	Self protocol.ID
	// Peers subscribes to the other members. Nil means that there are none.
	Peers Peers
	// Keep is how long the events of a filter are kept for returning watchers, from when the last watcher with that
	// filter has gone. 0 means a minute.
	Keep time.Duration
	// Logger is the gatherer's logger. Nil discards.
	Logger *slog.Logger
}

// Gatherer serves the watchers at one member with the events of all. It is safe for concurrent use.
type Gatherer struct {
	source *Source
	self   protocol.ID
	peers  Peers
	keep   time.Duration
	logger *slog.Logger

	living context.Context
	end    context.CancelFunc
	work   sync.WaitGroup

	mu   sync.Mutex
	all  map[Filter]*gathering
	kept map[Filter]*keeping
}

// NewGatherer returns a Gatherer without subscriptions. Close it.
func NewGatherer(c Config) (*Gatherer, error) {
	if c.Source == nil {
		return nil, errors.New("events: Source is nil; give the one that the driver feeds")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	g := &Gatherer{
		source: c.Source, self: c.Self, peers: c.Peers, keep: cmp.Or(c.Keep, time.Minute), logger: c.Logger,
		all: map[Filter]*gathering{}, kept: map[Filter]*keeping{},
	}
	g.living, g.end = context.WithCancel(context.Background())
	if g.peers != nil {
		g.work.Go(g.followViews)
	}
	return g, nil
}

// Close ends all subscriptions to members. Open feeds stay, with the events of this member.
func (g *Gatherer) Close() {
	g.mu.Lock() // no other member is asked after it
	g.end()
	alone := map[Filter]*keeping{}
	//tidy:unordered each is ended
	for want, k := range g.kept {
		if k.timer != nil && k.timer.Stop() {
			alone[want] = k
		}
	}
	g.mu.Unlock()
	//tidy:unordered each is ended
	for want, k := range alone {
		g.forget(want, k)
	}
	g.work.Wait()
}

// Watch opens a feed of matching events; member is this member's name. It waits until every other member sends, or is
// known not to answer, which the feed then reports: from when Watch returns, no event is missing without a report in
// the feed. The error is an ErrLimit named watchers at the maximum, a bad_request for an invalid id, or the context's.
// Close the feed.
//
// With the id of an event the feed begins after it, or reports that events are missing.
func (g *Gatherer) Watch(ctx context.Context, want Filter, after, member string, most int) (*Feed, error) {
	process, number, at, known := placeOf(after)
	if after != "" && !known {
		return nil, api.Fail(api.CodeBadRequest, fmt.Sprintf("after %.80q: want the id of an event", after))
	}
	feed := g.source.watch(want, member, most)
	if feed == nil {
		return nil, &holdfast.LimitError{Limit: "watchers", Value: int64(most)}
	}
	g.mu.Lock()
	keeper := g.keeperFor(want).feed
	g.mu.Unlock()
	feed.ends = func() { g.unwatch(want) }
	if after != "" {
		defer feed.resume(keeper, process, number, at, member)
	}
	return g.complete(ctx, feed)
}

// Attend is Watch for a reader of this member itself, which is not counted as a watcher and does not come again.
func (g *Gatherer) Attend(ctx context.Context, want Filter, member string) (*Feed, error) {
	return g.complete(ctx, g.source.attend(want, member))
}

// complete waits until every other member sends its events to a feed, or does not answer.
func (g *Gatherer) complete(ctx context.Context, feed *Feed) (*Feed, error) {
	if g.peers == nil {
		return feed, nil
	}
	g.mu.Lock()
	settling := g.share(feed)
	g.mu.Unlock()
	for _, settled := range settling {
		select {
		case <-settled:
		case <-g.living.Done():
		case <-ctx.Done():
			feed.Close()
			return nil, fmt.Errorf("wait for the other members: %w", ctx.Err())
		}
	}
	return feed, nil
}

// share adds a feed to a gathering, and returns channels that are closed when each of its members sends or does not
// answer. It is called with the mutex held.
func (g *Gatherer) share(feed *Feed) []<-chan struct{} {
	shared := g.choose(feed.want)
	feed.shares = shared
	shared.mu.Lock()
	defer shared.mu.Unlock()
	shared.feeds[feed] = struct{}{}
	var settling []<-chan struct{}
	//tidy:unordered all of them are waited for, and each tells for itself
	for _, f := range shared.members {
		if f.here || f.linked {
			settling = append(settling, f.settled)
		}
		if f.missing {
			feed.addMissing(f.unheard(time.Now()))
		}
	}
	return settling
}

// choose returns a gathering that covers the filter, and begins one if necessary. It is called with the mutex held.
func (g *Gatherer) choose(want Filter) *gathering {
	//tidy:unordered any that brings it will do
	for _, one := range g.all {
		if one.want.covers(want) {
			return one
		}
	}
	if len(g.all) >= gatherings {
		want = Filter{}
	}
	one := &gathering{
		of: g, want: want, began: time.Now(),
		feeds: map[*Feed]struct{}{}, members: map[protocol.ID]*following{},
	}
	one.life, one.end = context.WithCancel(g.living)
	g.all[want] = one
	one.follow(g.source.view.Load(), true)
	return one
}

// followViews passes the views to every gathering.
func (g *Gatherer) followViews() {
	for {
		select {
		case <-g.source.viewed:
		case <-g.living.Done():
			return
		}
		g.mu.Lock()
		view := g.source.view.Load()
		//tidy:unordered each follows for itself
		for _, one := range g.all {
			one.follow(view, false)
		}
		g.mu.Unlock()
	}
}

// gathering is one subscription to the other members, and the watchers that share its events.
type gathering struct {
	of    *Gatherer
	want  Filter
	began time.Time
	life  context.Context
	end   context.CancelFunc

	mu      sync.Mutex
	feeds   map[*Feed]struct{}
	members map[protocol.ID]*following
}

// remembered is the maximum number of members that a gathering remembers, besides those in the view.
const remembered = 1000

// follow applies a view: it subscribes to new members, and drops members that are gone.
func (s *gathering) follow(view *protocol.View, first bool) {
	if view == nil || s.life.Err() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	//tidy:unordered each is looked up in the view
	for id, f := range s.members {
		f.seen(view)
		if !f.here && !f.running && len(s.members) > remembered {
			delete(s.members, id)
		}
	}
	for _, member := range view.Members {
		if member.ID == s.of.self {
			continue
		}
		f := s.members[member.ID]
		if f == nil {
			f = newFollowing(s, member, first)
			s.members[member.ID] = f
		}
		if !f.running {
			f.begin()
		}
	}
}

// leave removes a feed. The last one ends the gathering.
func (s *gathering) leave(feed *Feed) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.feeds, feed)
	if len(s.feeds) == 0 && s.of.all[s.want] == s {
		delete(s.of.all, s.want)
		s.end()
	}
}
