package events

import (
	"context"
	"math"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/lock"
)

// Beat is the interval at which a quiet member confirms to another that nothing has happened.
const Beat = time.Second

// The bounds of one message to another member.
const (
	messageEvents = 512
	messageBytes  = 256 << 10 // may be exceeded by one event
)

// Stream sends this member's events to another member, until ctx ends, or send returns an error, or this member leaves
// (End), which is not an error. The first message comes at once: no event is missing from then on. The error is ErrSlow
// if the member was too slow.
func (s *Source) Stream(ctx context.Context, interest *schema.MemberInterest, send func(*schema.MemberEvents) error) error {
	feed, now := s.subscribe(Filter{interest.GetSpace(), interest.GetPrefix()})
	if feed == nil {
		return errEnded
	}
	defer s.remove(feed)
	if err := sendAll(now, false, send); err != nil {
		return err
	}
	beat := time.NewTicker(Beat)
	defer beat.Stop()
	for {
		taken := feed.take()
		last := taken.ended && !taken.slow
		if err := sendAll(taken, last, send); err != nil || last {
			return err
		}
		if taken.slow {
			return ErrSlow
		}
		if len(taken.batches) > 0 { // events that arrive meanwhile go together
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		select {
		case <-feed.signal:
		case <-beat.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// subscribe opens a feed for another member, and returns its initial portion; nil if this member is leaving.
func (s *Source) subscribe(want Filter) (*Feed, portion) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, portion{}
	}
	feed := s.admit(&Feed{source: s, want: want, other: true})
	return feed, portion{count: feed.count, at: time.Now()}
}

// sendAll sends a portion in as many messages as the bounds require.
func sendAll(taken portion, last bool, send func(*schema.MemberEvents) error) error {
	m := &schema.MemberEvents{}
	bytes := 0
	all := flat(taken.batches)
	for i, item := range all {
		e := item.WatchEvent
		m.Events = append(m.Events, &schema.MemberEvent{
			Event: e.Event, Time: e.Time.AsTime().UnixNano(), Space: e.Space, Name: e.Name, Owner: e.Owner, Token: e.Token, Why: e.Why, Session: e.Session,
			Client: e.Client, Reason: e.Reason, Holder: e.Holder, Value: e.Value, Revision: e.Revision,
			Mode: e.Mode, Units: e.Units, Capacity: e.Capacity, Request: e.Request,
		})
		bytes += len(e.Name) + len(e.Owner) + len(e.Why) + len(e.Client) + len(e.Reason) + len(e.Holder) + len(e.Value)
		if (len(m.Events) == messageEvents || bytes >= messageBytes) && i+1 < len(all) {
			if err := send(m); err != nil {
				return err
			}
			m, bytes = &schema.MemberEvents{}, 0
		}
	}
	if !taken.slow { // otherwise there is more than what was kept
		m.At, m.Count, m.Last = taken.at.UnixNano(), taken.count, last
	}
	return send(m)
}

// flat returns the events of batches.
func flat(batches []*Batch) (items []*Item) {
	for _, b := range batches {
		items = append(items, b.Items...)
	}
	return items
}

// received converts an event from another member. It reports false for an unknown or impossible one: watchers never see
// those.
func received(e *schema.MemberEvent, member string) (*schema.WatchEvent, bool) {
	_, known := lock.ParseSessionID(e.GetSession())
	possible := (known || e.GetSession() == "") && e.GetToken() <= math.MaxInt64 && lock.CheckKnown(e.GetName()) == nil && holdfast.CheckSpace(e.GetSpace()) == nil &&
		lock.CheckKnownText("owner", e.GetOwner()) == nil && lock.CheckKnownText("why", e.GetWhy()) == nil &&
		lock.CheckKnownText("client", e.GetClient()) == nil && lock.CheckKnownText("reason", e.GetReason()) == nil && lock.CheckKnownText("holder", e.GetHolder()) == nil && holdfast.CheckValue(e.GetValue()) == nil
	mode, err := api.FromMode(e.GetMode())
	shape := holdfast.Shape{Mode: mode, Units: int(e.GetUnits()), Capacity: int(e.GetCapacity())}
	if err != nil || shape.CheckShape() != nil {
		possible = false
	}
	return &schema.WatchEvent{
		Event: e.GetEvent(), Time: api.Stamp(api.AtNanoseconds(e.GetTime()).Time), Space: e.GetSpace(), Name: e.GetName(),
		Owner: e.GetOwner(), Token: e.GetToken(), Why: e.GetWhy(), Member: member, Session: e.GetSession(),
		Client: e.GetClient(), Reason: e.GetReason(), Holder: e.GetHolder(), Value: e.GetValue(), Revision: e.GetRevision(),
		Mode: e.GetMode(), Units: e.GetUnits(), Capacity: e.GetCapacity(), Request: e.GetRequest(),
	}, possible && aboutLocks(e.GetEvent())
}

// End prepares this member's leave: it sends other members all events so far, and that no more follow. The returned
// channel is closed when that is sent. Watchers at this member are not affected. It may be called again.
func (s *Source) End() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	//tidy:unordered each ends for itself
	for one := range s.feeds {
		if one.other {
			one.end()
		}
	}
	s.seeQuiet()
	return s.quiet
}

// seeQuiet closes quiet when nothing more is sent to other members. It is called with the mutex held.
func (s *Source) seeQuiet() {
	if !s.ended || len(s.feeds) > s.watchers+s.keepers {
		return
	}
	select {
	case <-s.quiet:
	default:
		close(s.quiet)
	}
}
