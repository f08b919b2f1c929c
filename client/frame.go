package client

import (
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/client/session"
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

// put adds an operation to a frame.
func (f *frame) put(op *session.Operation, ttl time.Duration) {
	s := f.add(op.ID)
	switch op.Kind {
	case session.SendBeat:
		s.operation.Kind = &schema.Operation_Beat{Beat: &schema.Beat{Ttl: int64(ttl)}}
	case session.SendEnd:
		s.operation.Kind = &schema.Operation_End{End: &schema.End{}}
	case session.SendAcquire:
		s.putAcquire(op)
	case session.SendCancel:
		s.operation.Kind = &schema.Operation_Cancel{Cancel: &schema.Cancel{Space: op.Request.Space, Name: op.Request.Want.Name}}
	case session.SendRelease:
		b := &s.releaseBody
		b.Space, b.Name, b.Token, b.Lazy = op.Request.Space, op.Request.Want.Name, uint64(op.Token), !op.Request.Awaited()
		s.operation.Kind = &s.release
	case session.SendExtend:
		s.operation.Kind = &schema.Operation_Extend{Extend: &schema.Extend{
			Space: op.Request.Space, Name: op.Request.Want.Name, Token: uint64(op.Token), Hold: int64(op.Hold),
		}}
	}
}

// putAcquire asks for a lock.
func (s *slot) putAcquire(op *session.Operation) {
	a, want := &s.acquireBody, &op.Request.Want
	a.Space, a.Name, a.Owner, a.Reason = op.Request.Space, want.Name, want.Owner, want.Reason
	a.Mode, a.Units, a.Capacity = api.ToMode(want.Mode), int32(want.Units), int32(want.Capacity)
	a.Try, a.Hold, a.Require, a.Wait = want.Try, int64(want.Hold), api.ToClass(want.Require), int64(op.Wait)
	s.operation.Kind = &s.acquire
}

// Bounds of what is sent. A frame stays far below what a server takes by default.
const (
	maxFrameOperations = 512
	maxFrameBytes      = 1 << 20
	operationBytes     = 96 // what an operation takes beyond its texts, at most
)

// fill takes the next frame for a stream off the queue. It reports false if nothing is to
// be sent on it.
func (c *Client) fill(frame *frame, on *stream) bool {
	frame.empty()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stream != on || !c.machine.Sending() {
		return false // another has the queue, or it is empty
	}
	size := 0
	now := c.clock.Now()
	for frame.used < maxFrameOperations && size < maxFrameBytes-4*holdfast.MaxText {
		op, more := c.machine.Next(now)
		if !more {
			break
		}
		if frame.put(&op, c.settings.ttl); op.Request != nil {
			r := op.Request
			size += operationBytes + len(r.Space) + len(r.Want.Name) + r.Want.TextBytes()
		}
	}
	return frame.used > 0
}
