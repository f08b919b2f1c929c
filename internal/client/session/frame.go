package session

import (
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// Bounds of a frame, far below a server's default limit.
const (
	MaxOperations  = 512
	MaxFrameBytes  = 1 << 20
	operationBytes = 96 // maximum size of an operation besides its texts
	operationTexts = 4*holdfast.MaxText + holdfast.MaxValue
)

// Frame is the reusable memory of an outgoing message: it is encoded before it is sent, and is not read afterwards.
type Frame struct {
	Message schema.ClientFrame
	slots   []*slot
	used    int
	bytes   int // its maximum encoded size
}

// slot is the memory of one operation of a frequent kind.
type slot struct {
	operation schema.Operation
	acquire   schema.Operation_Acquire
	release   schema.Operation_Release
	beat      schema.Operation_Beat

	acquireBody schema.Acquire
	releaseBody schema.Release
	beatBody    schema.Beat
}

// empty makes the frame ready to be filled again.
func (f *Frame) empty() {
	for _, s := range f.slots[:f.used] { // whose texts are not kept
		a := &s.acquireBody
		a.Space, a.Name, a.Owner, a.Reason, a.Value = "", "", "", "", ""
		s.releaseBody.Space, s.releaseBody.Name = "", ""
		s.operation.Kind = nil
	}
	clear(f.Message.Operations)
	f.Message.Operations, f.used, f.bytes = f.Message.Operations[:0], 0, 0
}

// hasRoom reports whether one more operation fits.
func (f *Frame) hasRoom() bool {
	return f.used < MaxOperations && f.bytes < MaxFrameBytes-operationTexts
}

// slot makes room for an operation, about r if that is not nil.
func (f *Frame) slot(id uint64, r *Request) *slot {
	if f.used == len(f.slots) {
		s := &slot{}
		s.acquire.Acquire, s.release.Release, s.beat.Beat = &s.acquireBody, &s.releaseBody, &s.beatBody
		f.slots = append(f.slots, s)
	}
	s := f.slots[f.used]
	f.used++
	if r != nil {
		f.bytes += operationBytes + len(r.Space) + len(r.Want.Name) + r.Want.TextBytes()
	}
	s.operation.Id = id
	f.Message.Operations = append(f.Message.Operations, &s.operation)
	return s
}

// add makes room for an operation of a rare kind.
func (f *Frame) add(id uint64, r *Request) *schema.Operation { return &f.slot(id, r).operation }

// acquire adds a request for a lock.
func (f *Frame) acquire(r *Request, wait time.Duration) {
	s := f.slot(r.ID, r)
	a, want := &s.acquireBody, &r.Want
	a.Space, a.Name, a.Owner, a.Reason, a.Value = r.Space, want.Name, want.Owner, want.Reason, want.Value
	a.Mode, a.Units, a.Capacity = api.ToMode(want.Mode), int32(want.Units), int32(want.Capacity)
	a.Deadlock = api.ToDeadlock(want.Deadlock)
	a.Try, a.Hold, a.Require, a.Wait = want.Try, int64(want.Hold), api.ToClass(want.Require), int64(wait)
	s.operation.Kind = &s.acquire
}

// beat adds a heartbeat.
func (f *Frame) beat(id uint64, ttl time.Duration) {
	s := f.slot(id, nil)
	s.beatBody.Ttl = int64(ttl)
	s.operation.Kind = &s.beat
}

// release adds the release of a lock.
func (f *Frame) release(r *Request) {
	s := f.slot(r.ID, r)
	b := &s.releaseBody
	b.Space, b.Name, b.Token, b.Lazy = r.Space, r.Want.Name, uint64(r.token), !r.awaited
	s.operation.Kind = &s.release
}
