package bakery

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/local"
)

// cable joins the links of two members, which send each other meaningless messages: ends of tickets with successive
// numbers. While it is bad, it loses, duplicates and reorders envelopes.
type cable struct {
	t       *testing.T
	rand    *rand.Rand
	now     protocol.Time
	ends    [2]*Machine
	outs    [2]protocol.Effects
	transit []Envelope
	bad     bool
	said    [2]uint64 // by each end
	lost    int
}

func newCable(t *testing.T, seed uint64) *cable {
	w := &cable{t: t, rand: rand.New(rand.NewPCG(seed, 23)), bad: true}
	places := []local.Place{{ID: 1, Since: 1}, {ID: 2, Since: 1}}
	for i := range w.ends {
		m, err := New(Config{Self: protocol.ID(i + 1), Founders: 2})
		if err != nil {
			t.Fatal(err)
		}
		w.ends[i] = m
		m.standing.Take(&protocol.View{
			Number: 1, Epoch: protocol.Epoch{Counter: 4, Candidate: 1}, Coordinator: 1, Installed: true,
			Members: []protocol.Member{{ID: 1, Name: "a", Address: "a", Since: 1}, {ID: 2, Name: "b", Address: "b", Since: 1}},
			Lease:   &protocol.Lease{Member: protocol.Never},
		})
		m.standing.Settle()
		m.setTerm(Election{Term: Term{4, 1}, Leaders: places})
	}
	return w
}

// say makes an end send the next number.
func (w *cable) say(end int) {
	w.said[end]++
	w.ends[end].say(w.now, protocol.ID(2-end), Unlocked{Key: Key{Member: 1, Number: w.said[end]}}, &w.outs[end])
	w.collect(end)
}

func (w *cable) collect(end int) {
	for _, send := range w.outs[end].Sends {
		copies := 1
		if w.bad {
			copies = []int{0, 0, 1, 1, 1, 2}[w.rand.IntN(6)]
		}
		if copies == 0 {
			w.lost++
		}
		for range copies {
			w.transit = append(w.transit, send.Message.(Envelope))
		}
	}
	w.outs[end].Reset()
}

// deliver delivers any envelope. An accepted one must be the next that was posted.
func (w *cable) deliver() {
	w.t.Helper()
	w.deliverThis(w.rand.IntN(len(w.transit)))
}

func (w *cable) deliverThis(i int) {
	w.t.Helper()
	envelope := w.transit[i]
	w.transit = slices.Delete(w.transit, i, i+1)
	end := int(envelope.To.ID) - 1
	m := w.ends[end]
	before := m.linkTo(envelope.From.ID).seen
	m.onEnvelope(w.now, protocol.Event{Kind: protocol.Receive, From: envelope.From.ID, Fact: envelope}, &envelope, &w.outs[end])
	w.collect(end)
	after := m.linkTo(envelope.From.ID).seen
	if after == before {
		return
	}
	if body := envelope.Body.(Unlocked); after != before+1 || envelope.Seq != after || body.Key.Number != after {
		w.t.Fatalf("number %d in letter %d is taken after %d, as %d", body.Key.Number, envelope.Seq, before, after)
	}
}

func (w *cable) pass(d time.Duration) {
	w.now += d
	for i, m := range w.ends {
		m.mindLinks(w.now, &w.outs[i])
		w.collect(i)
	}
}

// TestLinksKeepOrder checks that over a network that loses a third of all envelopes, duplicates some and reorders all,
// each envelope is taken once and in turn, and that nothing is left to send once the network is good again.
func TestLinksKeepOrder(t *testing.T) {
	lost := 0
	seeds := uint64(300)
	if testing.Short() {
		seeds = 30
	}
	for seed := range seeds {
		w := newCable(t, seed)
		for range 600 {
			switch n := w.rand.IntN(100); {
			case n < 30:
				w.say(w.rand.IntN(2))
			case n < 85 && len(w.transit) > 0:
				w.deliver()
			default:
				w.pass(time.Duration(w.rand.Int64N(int64(300 * time.Millisecond))))
			}
		}
		w.bad = false
		for turns := 0; ; turns++ {
			for len(w.transit) > 0 {
				w.deliver()
			}
			at := min(w.ends[0].linksWake(), w.ends[1].linksWake())
			if at == protocol.Never {
				break
			}
			if turns > 1000 {
				t.Fatalf("seed %d: the links never rest", seed)
			}
			w.pass(max(0, at-w.now))
		}
		for i, m := range w.ends {
			l := m.linkTo(protocol.ID(2 - i))
			if l.sent != w.said[i] || len(l.queue) != 0 || l.seen != w.said[1-i] || l.copies != 0 {
				t.Errorf("seed %d: member %d said %d of %d, %d are unheard; it took %d of %d", seed, i+1, l.sent, w.said[i], len(l.queue), l.seen, w.said[1-i])
			}
		}
		lost += w.lost
	}
	if lost == 0 {
		t.Error("nothing was ever lost")
	}
}

// TestLinksRepeatTheOldest checks that a bounded number of unconfirmed envelopes is sent again at a time, the oldest
// ones, with growing delays.
func TestLinksRepeatTheOldest(t *testing.T) {
	w := newCable(t, 1)
	for range maxCopies + 10 {
		w.say(0)
	}
	var pauses []time.Duration
	for range 6 {
		w.transit = nil
		at := w.ends[0].linksWake()
		pauses = append(pauses, at-w.now)
		w.bad = false
		w.pass(at - w.now)
		if len(w.transit) != maxCopies || w.transit[0].Seq != 1 || w.transit[maxCopies-1].Seq != maxCopies {
			t.Fatalf("said again: %v", w.transit)
		}
	}
	const ms = time.Millisecond
	if want := []time.Duration{250 * ms, 500 * ms, 1000 * ms, 2000 * ms, 2000 * ms, 2000 * ms}; !slices.Equal(pauses, want) {
		t.Errorf("pauses %v, want %v", pauses, want)
	}
}

// TestALinkCatchesUp checks that after a loss, with thousands of envelopes sent per second, the other end lags only for
// a moment, and no envelope is sent much more often than necessary.
func TestALinkCatchesUp(t *testing.T) {
	w := newCable(t, 1)
	w.bad = false
	w.say(0)
	w.transit = nil // it is lost
	posted := 0
	const said, every = 20, 5 * time.Millisecond // 4,000 a second
	tick := func() {
		w.pass(every)
		for len(w.transit) > 0 {
			if w.transit[0].From.ID == 1 {
				posted++
			}
			w.deliverThis(0)
		}
	}
	most := 0
	for range 2000 {
		for range said {
			w.say(0)
		}
		tick()
		most = max(most, len(w.ends[0].linkTo(2).queue))
	}
	tick()
	l := w.ends[0].linkTo(2)
	for range 60 { // the last confirmation may be delayed
		tick()
	}
	if len(l.queue) != 0 || w.ends[1].linkTo(1).seen != w.said[0] {
		t.Errorf("%d of %d letters are unheard; the other end has taken %d", len(l.queue), w.said[0], w.ends[1].linkTo(1).seen)
	}
	if most < maxCopies || most > said*int(time.Second/every) {
		t.Errorf("up to %d letters were unheard: want more than are sent again at a time, and a second's worth at most", most)
	}
	if posted > 2*int(w.said[0]) {
		t.Errorf("%d letters were sent for %d messages", posted, w.said[0])
	}
}

// TestALeaderThatHasLeftHasNoLink checks that only leaders in the view count as having too many unconfirmed envelopes,
// and that the links to them keep their numbers.
func TestALeaderThatHasLeftHasNoLink(t *testing.T) {
	w := newCable(t, 1)
	m := w.ends[0]
	m.term.Leaders = append(m.term.Leaders, local.Place{ID: 3, Since: 1}) // in no view any more
	m.others = append(m.others, 3)
	w.say(0)
	if m.congested() {
		t.Error("one letter is too much")
	}
	if w.say(0); len(m.links) != 1 || m.links[0].sent != 2 {
		t.Errorf("%d links, the first with %d letters; want 1 with 2", len(m.links), m.links[0].sent)
	}
	defer func() {
		if recover() == nil {
			t.Error("there is a link to a member without a place in the view")
		}
	}()
	m.linkTo(3)
}
