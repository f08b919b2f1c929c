package client

import (
	"time"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/clock"
)

// frame is the memory of what a stream sends, used again and again: a message is encoded
// before it is sent, and is not read afterwards.
type frame struct {
	message schema.ClientFrame
	slots   []*slot
	used    int
}

// slot is the memory of one operation of the kinds that are sent often.
type slot struct {
	operation schema.Operation
	acquire   schema.Operation_Acquire
	release   schema.Operation_Release

	acquireBody schema.Acquire
	releaseBody schema.Release
}

// empty makes the frame ready to be filled again.
func (f *frame) empty() {
	for _, s := range f.slots[:f.used] { // whose texts are not kept
		a := &s.acquireBody
		a.Space, a.Name, a.Owner, a.Reason = "", "", "", ""
		s.releaseBody.Space, s.releaseBody.Name = "", ""
		s.operation.Kind = nil
	}
	clear(f.message.Operations)
	f.message.Operations, f.used = f.message.Operations[:0], 0
}

// add makes room for an operation.
func (f *frame) add(id uint64) *slot {
	if f.used == len(f.slots) {
		s := &slot{}
		s.acquire.Acquire, s.release.Release = &s.acquireBody, &s.releaseBody
		f.slots = append(f.slots, s)
	}
	s := f.slots[f.used]
	f.used++
	s.operation.Id = id
	f.message.Operations = append(f.message.Operations, &s.operation)
	return s
}

// operation adds what an item sends at the time now to a frame, unless it is moot.
func (c *Client) operation(f *frame, next item, now time.Duration) {
	r := next.request
	switch {
	case next.kind == sendBeat:
		c.lastID++
		c.beats[c.lastID] = now
		f.add(c.lastID).operation.Kind = &schema.Operation_Beat{Beat: &schema.Beat{Ttl: int64(c.settings.ttl)}}
	case next.kind == sendEnd:
		c.lastID++
		c.endID = c.lastID
		f.add(c.endID).operation.Kind = &schema.Operation_End{End: &schema.End{}}
	case next.kind == sendAcquire && r.state == requested:
		c.acquireOperation(f.add(r.id), r, now)
	case next.kind == sendCancel && r.state == cancelling:
		f.add(r.id).operation.Kind = &schema.Operation_Cancel{Cancel: &schema.Cancel{Space: r.space, Name: r.want.Name}}
	case next.kind == sendRelease && r.state == releasing:
		r.copies++
		s := f.add(r.id)
		b := &s.releaseBody
		b.Space, b.Name, b.Token, b.Lazy = r.space, r.want.Name, uint64(r.lock.Token()), !r.unlocks
		s.operation.Kind = &s.release
	case next.kind == sendExtend && r.state == held && r.extend != nil:
		if r.extend.unsent {
			r.extend.unsent, r.extend.sent = false, now
		}
		if r.behind, r.limit = true, (limit{}); r.extend.hold > 0 {
			r.limit = limit{r.lock.Token(), r.extend.hold}
		}
		f.add(r.id).operation.Kind = &schema.Operation_Extend{Extend: &schema.Extend{
			Space: r.space, Name: r.want.Name, Token: uint64(r.lock.Token()), Hold: int64(r.extend.hold),
		}}
	}
}

// acquireOperation asks for a lock. Its hold limit counts from the first sending,
// which is never too late; what remains of its wait limit, from this one.
func (c *Client) acquireOperation(s *slot, r *request, now time.Duration) {
	if r.unsent {
		r.unsent, r.sent = false, now
		c.unsent--
	}
	a := &s.acquireBody
	a.Space, a.Name, a.Owner, a.Reason = r.space, r.want.Name, r.want.Owner, r.want.Reason
	a.Mode, a.Units, a.Capacity = api.ToMode(r.want.Mode), int32(r.want.Units), int32(r.want.Capacity)
	a.Try, a.Hold, a.Require, a.Wait = r.want.Try, int64(r.want.Hold), api.ToClass(r.want.Require), 0
	if r.waitEnd != clock.Never {
		a.Wait = int64(max(1, r.waitEnd-now))
	}
	s.operation.Kind = &s.acquire
}
