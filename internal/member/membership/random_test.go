package membership

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

// storm is a run of faults drawn from a seed: 2 to 5 founders and up to 2 guests, each
// with or without a cell; crashes, also of all at once, restarts with and without
// memory, pauses, cuts of every sort, loss, duplicates, delays to 5 D, false rumours,
// disks that fail, members that leave; then a time without faults. Some are in partition
// mode any, in some members leave all the time, and some end with the loss of a quorum
// and an operator's word.
type storm struct {
	*net
	crashes, pauses, cuts float64
	quick                 bool       // restarts come soon
	other                 *rand.Rand // what it draws changes nothing of the seeds without
	any, restless, forced bool
	lost                  bool // no member that is down comes back
}

const stormy, calm = 40 * time.Second, 30 * time.Second

func newStorm(t testing.TB, seed uint64, trace bool) *storm {
	w := &storm{}
	draw := newNet(t, seed, 0, 0, nil).random
	founders, guests := 2+draw.IntN(4), 0
	if draw.IntN(3) == 0 {
		guests = 1 + draw.IntN(2)
	}
	kept := draw.IntN(3)
	w.other = rand.New(rand.NewPCG(seed, 99))
	w.any, w.restless, w.forced = w.other.IntN(8) == 0, w.other.IntN(8) == 0, w.other.IntN(8) == 0
	w.forced = w.forced && !w.any
	w.net = newNet(t, seed, founders, guests, func(c *Config) {
		c.Kept = kept == 0 || kept == 1 && draw.IntN(2) == 0
		c.Serves = draw.IntN(4) > 0
		c.Available = w.any
	})
	w.trace = trace
	w.crashes, w.pauses, w.cuts = draw.Float64()*0.25, draw.Float64()*0.2, draw.Float64()*0.25
	w.quick = draw.IntN(2) == 0
	slow := []float64{0, 0.02, 0.1, 0.3}[draw.IntN(4)]
	w.loss = []float64{0, 0.02, 0.1}[draw.IntN(3)]
	w.twice = []float64{0, 0.05}[draw.IntN(2)]
	failing := []float64{0, 0, 0.05}[draw.IntN(3)]
	w.faulty = func(s *site) bool {
		return w.now < stormy && s.live != nil && !s.live.starting && w.random.Float64() < failing
	}
	w.delay = func() time.Duration {
		d := (1 + 20*w.random.Float64()) * float64(time.Millisecond)
		if x := w.random.Float64(); x < slow && w.now < stormy {
			d = w.random.Float64() * float64(600*time.Millisecond)
			if x < slow/3 {
				d = w.random.Float64() * float64(6*second)
			}
			if x < slow/20 {
				d = w.random.Float64() * float64(15*second)
			}
		}
		return time.Duration(d)
	}
	for i, s := range w.sites {
		late := time.Duration(w.random.Int64N(int64(second / 2)))
		if i >= founders {
			late = time.Duration(w.random.Int64N(int64(20 * second)))
		}
		w.after(late, func() { w.back(s) })
	}
	for at := 5 * second; at < stormy-3*second; at += second / 4 {
		w.at(at, w.blow)
	}
	for at := second / 2; at < stormy+calm; at += second / 5 {
		w.at(at, w.serve)
	}
	w.at(stormy, w.lull)
	return w
}

// someone picks a site, the coordinator's more often.
func (w *storm) someone() *site {
	if p := w.authority(); p != nil && w.random.IntN(2) == 0 {
		return p.site
	}
	return w.sites[w.random.IntN(len(w.sites))]
}

func (w *storm) span(d time.Duration) time.Duration { return time.Duration(w.random.Int64N(int64(d))) }

// blow lets some faults happen.
func (w *storm) blow() {
	if w.random.Float64() < w.crashes*0.5 {
		all := w.random.IntN(4) == 0
		for _, s := range w.sites {
			if all && w.random.IntN(4) > 0 {
				w.fell(s)
			}
		}
		w.fell(w.someone())
	}
	if w.random.Float64() < w.pauses*0.5 {
		w.someone().pause(w.span(9 * second / 2))
	}
	if w.random.Float64() < w.cuts*0.5 {
		w.sever(w.span(15 * second / 2))
	}
	if w.random.IntN(20) == 0 {
		w.someone().hint(w.sites[w.random.IntN(len(w.sites))].config.Address, w.random.IntN(4) == 0)
	}
	if p := w.someone().live; p != nil && w.random.IntN(80) == 0 {
		w.leave(p, w.random.IntN(2) == 0, w.span(2*second))
	}
	if w.restless && w.other.IntN(10) == 0 {
		if p := w.sites[w.other.IntN(len(w.sites))].live; p != nil {
			w.leave(p, w.other.IntN(2) == 0, time.Duration(w.other.Int64N(int64(2*second))))
		}
	}
}

// leave lets a member leave; its process ends a while later.
func (w *storm) leave(p *process, empty bool, later time.Duration) {
	w.log("%s leaves, empty=%v", p.site.name, empty)
	p.call(&Leave{Empty: empty && !p.horizon.Clients})
	w.after(later, func() {
		if p.alive() {
			w.fell(p.site)
		}
	})
}

// back starts a member, unless it is lost for good.
func (w *storm) back(s *site) {
	if !w.lost {
		w.start(s.name)
	}
}

// fell crashes a member, and lets it come back.
func (w *storm) fell(s *site) {
	if s.live == nil {
		return
	}
	s.crash()
	if w.random.IntN(12) == 0 {
		s.lose()
	}
	back := 50*time.Millisecond + w.span(second)
	if !w.quick || w.random.IntN(3) == 0 {
		back = w.span(10 * second)
	}
	w.after(back, func() { w.back(s) })
}

// sever cuts links.
func (w *storm) sever(d time.Duration) {
	a, b := w.someone(), w.someone()
	switch w.random.IntN(4) {
	case 0:
		var side []string
		for _, s := range w.sites {
			if w.random.IntN(2) == 0 {
				side = append(side, s.name)
			}
		}
		w.log("SPLIT %v for %v", side, d)
		w.split(d, side...)
	case 1:
		w.log("ISOLATE %s for %v", a.name, d)
		w.isolate(a.name, d)
	case 2:
		w.log("CUT %s to %s for %v", a.name, b.name, d)
		a.cut[b] = w.now + d
	case 3: // one loyal member is left to it
		w.log("CUT %s from all but %s for %v", a.name, b.name, d)
		for _, o := range w.sites {
			if o != a && o != b {
				a.cut[o], o.cut[a] = w.now+d, w.now+d
			}
		}
	}
}

func (s *site) hint(address string, alive bool) {
	if s.live != nil {
		s.live.step(protocol.Event{Kind: protocol.Receive, From: protocol.Rumour, Fact: protocol.Hint{Address: address, Alive: alive}})
	}
}

// serve lets clients come and go.
func (w *storm) serve() {
	for _, s := range w.sites {
		p := s.live
		if p == nil || s.paused > w.now || !s.config.Serves {
			continue
		}
		switch w.random.IntN(12) {
		case 0:
			want := time.Duration(1) << (30 + w.random.IntN(3))
			if w.believedAt(p) {
				want = max(want, p.need.Want)
			}
			p.want(want, true)
		case 1:
			if !w.believedAt(p) {
				p.want(0, w.random.IntN(2) == 0)
			}
		case 2:
			if p.need.Want == 0 {
				p.want(0, true)
			}
		default:
			p.promiseClient()
		}
	}
}

// believedAt reports whether a client of the process believes: only then does the session machine
// need what it asked for.
func (w *storm) believedAt(p *process) bool {
	return slices.ContainsFunc(w.clients, func(c belief) bool {
		return c.id == p.self && c.tenure.Incarnation == p.lease.Tenure.Incarnation && c.until > w.now
	})
}

// lull ends all faults and starts who is down.
func (w *storm) lull() {
	w.log("HEALED")
	w.loss, w.twice, w.faulty = 0, 0, nil
	w.heal()
	for _, s := range w.sites {
		s.paused = 0
		if s.live != nil && s.live.exit != nil {
			s.crash()
		}
	}
	if w.forced {
		w.bereave()
		return
	}
	w.start()
}

// mourning is how long a member is lost before an operator gives up hope: all that was
// promised to any client has run out.
const mourning = 12 * second

// bereave ends all founders but some, and lets an operator go on without them. They come
// back when it is over, where they can reach the others.
func (w *storm) bereave() {
	w.lost = true
	var left []*site
	for _, s := range w.sites {
		switch {
		case !s.config.Founder || s.live == nil:
		case w.other.IntN(3) > 0:
			s.crash()
		default:
			left = append(left, s)
		}
	}
	w.after(mourning, func() {
		var names []string
		for _, s := range left {
			if s.live != nil && s.live.cell.Accepted.Rank(s.live.self) >= 0 {
				names = append(names, s.name)
			}
		}
		if len(names) > 0 {
			w.log("FORCE %v", names)
			w.site(names[w.other.IntN(len(names))]).live.call(&Force{Reason: "a fire", Members: names, Wall: (Origin+1000)*second + w.now})
		}
	})
	w.after(mourning+5*second, func() {
		w.lost = false
		w.start()
	})
}

// weather plays a run and says what is wrong with it, or "".
func weather(t testing.TB, seed uint64, trace bool) string {
	w := newStorm(t, seed, trace)
	w.run(stormy + second)
	end := stormy + calm
	if w.forced {
		end += mourning + 5*second
	}
	for w.now < end && w.found == "" {
		w.run(second / 2)
		if w.together(w.names()...) && w.now > stormy+8*second {
			break
		}
	}
	switch {
	case w.found != "":
		return w.found
	case !w.together(w.names()...):
		return "not together again: \n" + w.dump()
	}
	for _, s := range w.sites {
		if s.failed != nil {
			return fmt.Sprintf("%s was unfit: %v", s.name, s.failed)
		}
	}
	return ""
}

// TestStorms plays many seeds. HOLDFAST_SEEDS sets how many, HOLDFAST_SEED the first;
// with -v and one seed the run is printed.
func TestStorms(t *testing.T) {
	first, seeds := number("HOLDFAST_SEED", 1), number("HOLDFAST_SEEDS", 60)
	bad := 0
	for seed := first; seed < first+seeds; seed++ {
		if what := weather(t, seed, testing.Verbose() && seeds == 1); what != "" {
			t.Errorf("seed %d: %s", seed, what)
			if bad++; bad == 10 {
				return
			}
		}
	}
}

func number(name string, otherwise uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
		return n
	}
	return otherwise
}
