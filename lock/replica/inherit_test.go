package replica

import (
	"slices"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// TestInherit checks that a later client of a session inherits the holds of the one before, that the earlier client's
// waits on its stream end, and that its later requests are refused, also if another operation of the later client came
// first.
func TestInherit(t *testing.T) {
	first, second := lock.Attachment{Client: 7, Generation: 1}, lock.Attachment{Client: 5, Generation: 2}
	by := func(client lock.Attachment, o Op) Op {
		o.By = client
		return o
	}
	for name, takes := range map[string]Op{
		"says that it uses the session": {Kind: Attach, Session: id(1), Attached: &lock.Attachments{Attachment: second}},
		"asks for a name":               by(second, acquire(1, 20, "own")),
	} {
		t.Run(name, func(t *testing.T) {
			b := newHarness(t, Config{})
			begins := open(1)
			begins.Attached = &lock.Attachments{Attachment: first}
			once := by(first, acquire(1, 3, "y"))
			once.Once = "wish"
			b.do(begins, open(2), acquire(2, 1, "y"), acquire(2, 2, "z"), by(first, acquire(1, 1, "x")), by(first, acquire(1, 2, "y")), once,
				acquire(1, lock.SingleCall+1, "z"))
			held := b.Table().Last()
			out := b.do(takes)
			var ended []uint64
			for _, d := range out.Decisions {
				if d.Kind == lock.Released {
					ended = append(ended, d.Request)
				}
			}
			if !slices.Equal(ended, []uint64{2, 3}) || len(out.Attached) != 1 {
				t.Errorf("requests %v have ended, and %d sessions have another client", ended, len(out.Attached))
			}
			if s, _ := b.Session(id(1)); s.Inherited != held || s.Attached.Attachment != second {
				t.Errorf("it has inherited what is held under %d or less, want %d, and is used by %+v", s.Inherited, held, s.Attached)
			}
			if d := b.only(by(first, acquire(1, 4, "w"))); d.Kind != lock.Refused || d.Err != holdfast.EndedByAnother {
				t.Errorf("what the client before asks for late is decided: %+v", d)
			}
			if d := b.only(by(first, acquire(1, 4, "w"))); d.Kind != lock.Refused {
				t.Errorf("asked again, it is decided: %+v", d)
			}
			if d := b.only(by(first, acquire(1, 1, "x"))); d.Kind != lock.Granted || d.Token != held {
				t.Errorf("what it holds, and asks for again, is decided: %+v", d)
			}
			if d := b.only(by(second, acquire(1, 10, "v"))); d.Kind != lock.Granted || d.Token <= held {
				t.Errorf("what the later client asks for is decided: %+v", d)
			}
			if d := b.do(release(2, 2, "z", 0)).Decisions; len(d) != 2 || d[1].Request != lock.SingleCall+1 {
				t.Errorf("the single call that waits is answered: %+v", d)
			}
			copied(t, b.Replica)
		})
	}
}
