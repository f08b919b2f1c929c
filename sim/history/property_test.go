package history

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-locks/holdfast"
)

// played is the simplest lock: a list of the holders. Every history of it must be accepted, regardless of how late
// users see it.
type played struct {
	t     *rapid.T
	log   *Log
	model Model
	at    time.Duration
	token holdfast.Token
	wait  []*Acquisition
	hold  []*Acquisition
	gone  []*Acquisition // their users have stopped; the authority has not reported that it knows
}

func (p *played) draw(n int) int { return rapid.IntRange(0, n-1).Draw(p.t, "n") }

func take(from *[]*Acquisition, i int) *Acquisition {
	a := (*from)[i]
	*from = slices.Delete(*from, i, i+1)
	return a
}

// request draws a request for the model.
func (p *played) request() Request {
	n := p.log.Len()
	w := Request{Who: fmt.Sprintf("user%d", n%5)}
	if p.draw(2) == 0 && p.model.shared {
		w.Mode = holdfast.ModeShared
	}
	if p.draw(4) > 0 && p.model.permits {
		w.Mode, w.Units, w.Capacity = holdfast.ModeSlots, 1+p.draw(2), 3
	}
	if p.draw(2) == 0 && p.model.reentrant {
		w.Owner = fmt.Sprintf("owner%d", p.draw(2))
	}
	return w
}

// shaped reports whether two requests can share one grant.
func shaped(a, b *Acquisition) bool {
	return a.Owner != "" && a.Owner == b.Owner && a.Mode == b.Mode && a.Units == b.Units && a.Capacity == b.Capacity
}

// fits reports whether a is compatible with the holders; entered is the holder whose grant it enters.
func (p *played) fits(a *Acquisition) (entered *Acquisition, fits bool) {
	units := a.Units
	counted := map[holdfast.Token]bool{}
	for _, h := range p.hold {
		if shaped(a, h) {
			return h, true
		}
		if a.Owner != "" && a.Owner == h.Owner || h.Mode != a.Mode || a.Mode == holdfast.ModeExclusive {
			return nil, false
		}
		if !counted[h.Token] {
			counted[h.Token] = true
			units += h.Units
		}
	}
	return nil, a.Mode != holdfast.ModeSlots || units <= a.Capacity
}

// grant grants the lock to a waiting user, if possible.
func (p *played) grant(i int) {
	a := p.wait[i]
	entered, fits := p.fits(a)
	if !fits {
		return
	}
	take(&p.wait, i)
	token := p.token + 1
	if entered != nil {
		token = entered.Token
	}
	p.token = max(p.token, token)
	p.log.Grant(a, p.at, token)
	p.hold = append(p.hold, a)
	for _, h := range p.hold {
		p.log.See(h)
	}
}

// move performs one random step.
func (p *played) move() {
	p.at += time.Millisecond
	switch p.draw(6) {
	case 0, 1:
		p.wait = append(p.wait, p.log.Request(p.at, p.request()))
	case 2, 3:
		if len(p.wait) > 0 {
			p.grant(p.draw(len(p.wait)))
		}
	case 4:
		if len(p.hold) > 0 {
			a := take(&p.hold, p.draw(len(p.hold)))
			p.log.End(a, p.at, "unlock")
			p.gone = append(p.gone, a)
		}
	default:
		switch {
		case len(p.gone) > 0 && p.draw(2) == 0:
			p.log.Take(take(&p.gone, p.draw(len(p.gone))), p.at)
		case len(p.wait) > 0 && p.draw(4) == 0:
			a := take(&p.wait, p.draw(len(p.wait))) // it gives up
			if p.draw(2) == 0 {
				p.log.Take(a, p.at)
			}
		case len(p.hold) > 0:
			w := p.request()
			w.Try, w.Owner = true, ""
			p.log.Refuse(p.log.Request(p.at, w), p.at)
		}
	}
}

func play(t *rapid.T, m Model) *played {
	p := &played{t: t, log: NewLog("n"), model: m}
	for range rapid.IntRange(1, 40).Draw(t, "moves") {
		p.move()
	}
	return p
}

func models() []Model {
	return []Model{Mutex(), FencedMutex(), ReentrantFencedMutex(), SharedExclusive(), Permits()}
}

// TestWhatALockDoesIsAccepted checks that a model accepts every history of its lock.
func TestWhatALockDoesIsAccepted(t *testing.T) {
	for _, m := range models() {
		t.Run(m.String(), rapid.MakeCheck(func(t *rapid.T) {
			p := play(t, m)
			if got := p.log.Check(m, 0); got != Linearizable {
				t.Fatalf("it is %v\n%v", got, p.log)
			}
		}))
	}
}

// granted lists the granted acquisitions, in the order in which users heard of them.
func (p *played) granted() (all []*Acquisition) {
	for _, a := range p.log.all {
		if a.Outcome == Granted {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b *Acquisition) int { return int(a.granted - b.granted) })
	return all
}

// harm changes a log into one that no lock may produce, and describes the change; "" if the log offers no place for
// one.
func (p *played) harm() string {
	all := p.granted()
	if len(all) == 0 {
		return ""
	}
	switch victim := all[p.draw(len(all))]; p.draw(4) {
	case 0: // another user is let in, alone, while the victim believes that it holds
		p.at += time.Millisecond
		victim.ended, victim.taken = forever, forever
		other := p.log.Request(p.at, Request{Who: "intruder"})
		p.log.Grant(other, p.at, p.token+1)
		return "an intruder holds at the same time as " + victim.Who
	case 1: // the last grant has the token of an earlier one
		if !p.model.fenced {
			return ""
		}
		for _, a := range append(p.hold, p.gone...) {
			p.log.End(a, p.at, "unlock")
			p.log.Take(a, p.at)
		}
		other := p.log.Request(p.at, Request{Who: "late"})
		p.log.Grant(other, p.at, victim.Token)
		return "a token comes again"
	case 2: // all users have left, and one is refused because the name is held
		for _, a := range p.log.all {
			if a.Outcome == Open {
				p.log.Take(a, p.at)
			}
		}
		for _, a := range append(p.hold, p.gone...) {
			p.log.End(a, p.at, "unlock")
			p.log.Take(a, p.at)
		}
		p.log.Refuse(p.log.Request(p.at, Request{Who: "late", Try: true}), p.at)
		return "a user is refused a free name"
	default: // two conflicting users are let in at the end
		for i := range 2 {
			a := p.log.Request(p.at, Request{Who: fmt.Sprint("twin", i)})
			p.log.Grant(a, p.at, p.token+1+holdfast.Token(i))
		}
		return "twins"
	}
}

// TestWhatNoLockMayDoIsFound checks that a violation is found in the middle of a correct history.
func TestWhatNoLockMayDoIsFound(t *testing.T) {
	for _, m := range models() {
		t.Run(m.String(), rapid.MakeCheck(func(t *rapid.T) {
			p := play(t, m)
			done := p.harm()
			if done == "" {
				return
			}
			if got := p.log.Check(m, 2_000_000); got != Violated {
				t.Fatalf("%s, and it is %v\n%v", done, got, p.log)
			}
		}))
	}
}
