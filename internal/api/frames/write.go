package frames

import (
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// Field numbers of a frame, and those shared by all operations and events.
const (
	fieldItem = 1 // of a frame: an operation or an event
	fieldID   = 1 // of those
)

// plainBytes is an upper bound for an operation or event of a kind encoded here, besides its texts.
const plainBytes = 96

// operationsHint returns an estimate of the size of a client's frame: for kinds that the general code encodes it may be
// too small, which costs a copy.
func operationsHint(operations []*schema.Operation) int {
	size := 0
	for _, o := range operations {
		size += plainBytes
		switch kind := o.Kind.(type) {
		case *schema.Operation_Acquire:
			a := kind.Acquire
			size += len(a.GetSpace()) + len(a.GetName()) + len(a.GetOwner()) + len(a.GetReason()) + len(a.GetValue())
		case *schema.Operation_Release:
			size += len(kind.Release.GetSpace()) + len(kind.Release.GetName())
		case *schema.Operation_Cancel:
			size += len(kind.Cancel.GetSpace()) + len(kind.Cancel.GetName())
		}
	}
	return size
}

// appendOperations appends a client's frame to b.
func appendOperations(b []byte, operations []*schema.Operation) ([]byte, error) {
	for i, o := range operations {
		var start int
		b, start = begin(b, fieldItem)
		var err error
		if b, err = appendOperation(b, o); err != nil {
			return b, fmt.Errorf("encode operation %d of the frame, id %d: %w", i+1, o.GetId(), err)
		}
		b = end(b, start)
	}
	return b, nil
}

// appendEvents appends a server's frame to b.
func appendEvents(b []byte, events []*schema.Event) ([]byte, error) {
	for i, e := range events {
		var start int
		b, start = begin(b, fieldItem)
		var err error
		if b, err = appendEvent(b, e); err != nil {
			return b, fmt.Errorf("encode event %d of the frame, id %d: %w", i+1, e.GetId(), err)
		}
		b = end(b, start)
	}
	return b, nil
}

func appendOperation(b []byte, o *schema.Operation) ([]byte, error) {
	switch kind := o.GetKind().(type) {
	case *schema.Operation_Acquire:
		if a := kind.Acquire; a != nil && valid(a.Space, a.Name, a.Owner, a.Reason, a.Value) {
			return appendAcquire(appendNumber(b, fieldID, o.Id), a), nil
		}
	case *schema.Operation_Release:
		if r := kind.Release; r != nil && valid(r.Space, r.Name) {
			b, start := begin(appendNumber(b, fieldID, o.Id), 4)
			b = appendText(b, 1, r.Space)
			b = appendText(b, 2, r.Name)
			b = appendNumber(b, 3, r.Token)
			if r.Lazy {
				b = appendNumber(b, 4, 1)
			}
			return end(b, start), nil
		}
	case *schema.Operation_Cancel:
		if c := kind.Cancel; c != nil && valid(c.Space, c.Name) {
			b, start := begin(appendNumber(b, fieldID, o.Id), 5)
			b = appendText(b, 1, c.Space)
			return end(appendText(b, 2, c.Name), start), nil
		}
	case *schema.Operation_Beat:
		if kind.Beat != nil {
			b, start := begin(appendNumber(b, fieldID, o.Id), 7)
			return end(appendNumber(b, 1, uint64(kind.Beat.Ttl)), start), nil
		}
	}
	return appendGeneral(b, o)
}

func appendAcquire(b []byte, a *schema.Acquire) []byte {
	b, start := begin(b, 3)
	b = appendText(b, 1, a.Space)
	b = appendText(b, 2, a.Name)
	b = appendNumber(b, 3, uint64(a.Mode)) // a negative number has ten bytes, as in the schema
	b = appendNumber(b, 4, uint64(a.Units))
	b = appendNumber(b, 5, uint64(a.Capacity))
	if a.Try {
		b = appendNumber(b, 6, 1)
	}
	b = appendNumber(b, 7, uint64(a.Wait))
	b = appendNumber(b, 8, uint64(a.Hold))
	b = appendText(b, 9, a.Owner)
	b = appendText(b, 10, a.Reason)
	b = appendNumber(b, 11, uint64(a.Require))
	b = appendText(b, 12, a.Value)
	return end(appendNumber(b, 13, uint64(a.Deadlock)), start)
}

func appendEvent(b []byte, e *schema.Event) ([]byte, error) {
	switch kind := e.GetKind().(type) {
	case *schema.Event_Granted:
		if g := kind.Granted; g != nil {
			b, start := begin(appendNumber(b, fieldID, e.Id), 3)
			b = appendNumber(b, 1, g.Token)
			b = appendNumber(b, 2, uint64(g.Since))
			b = appendNumber(b, 3, uint64(g.Hold))
			if g.Grace {
				b = appendNumber(b, 4, 1)
			}
			return end(b, start), nil
		}
	case *schema.Event_Queued:
		if q := kind.Queued; q != nil {
			b, start := begin(appendNumber(b, fieldID, e.Id), 4)
			return end(appendNumber(b, 1, uint64(q.Position)), start), nil
		}
	case *schema.Event_Released:
		if r := kind.Released; r != nil && r.Problem == nil {
			b, start := begin(appendNumber(b, fieldID, e.Id), 6)
			return end(b, start), nil
		}
	case *schema.Event_Lost:
		if l := kind.Lost; l != nil && valid(l.Why) {
			b, start := begin(appendNumber(b, fieldID, e.Id), 7)
			b = appendText(b, 1, l.Why)
			if l.MustRelease {
				b = appendNumber(b, 2, 1)
			}
			return end(b, start), nil
		}
	case *schema.Event_Beat:
		if kind.Beat != nil && kind.Beat.TtlCut == "" {
			b, start := begin(appendNumber(b, fieldID, e.Id), 9)
			return end(appendNumber(b, 1, uint64(kind.Beat.Ttl)), start), nil
		}
	}
	return appendGeneral(b, e)
}

// valid reports whether all texts are valid for the schema; the general code reports which is not.
func valid(texts ...string) bool {
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return false
		}
	}
	return true
}

func appendGeneral(b []byte, m proto.Message) ([]byte, error) {
	return proto.MarshalOptions{}.MarshalAppend(b, m)
}
