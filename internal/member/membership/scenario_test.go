package membership

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// The scenarios of docs/design/membership.md §11, by name.

// quiet fails the test where the net has found a violation.
func (n *net) quiet() {
	n.t.Helper()
	if n.found != "" {
		n.t.Fatalf("%s\n%s", n.found, n.dump())
	}
}

// formed makes founders that are together.
func formed(t testing.TB, founders, guests int, tune func(*Config)) *net {
	t.Helper()
	n := newNet(t, uint64(founders), founders, guests, tune)
	n.start()
	n.gather(10*second, n.names()...)
	n.run(second)
	return n
}

// kept checks that none of these members has lost its lease.
func (n *net) kept(names ...string) {
	n.t.Helper()
	for _, name := range names {
		if p := n.site(name).live; p == nil || p.lapses > 0 {
			n.t.Errorf("%s has lost its lease", name)
		}
	}
	n.quiet()
}

func TestBootstrap(t *testing.T) {
	for _, size := range []int{2, 3, 5, 7, 25} {
		n := newNet(t, 1, size, 1, nil)
		n.start()
		n.until(second, "a view", func() bool { return n.site("a").live.view != nil && n.site("a").live.view.Installed })
		first := n.now
		n.gather(10*second, n.names()...)
		n.quiet()
		t.Logf("%d founders have a view after %v; they and a guest are together after %v", size, first, n.now)
		if p := n.authority(); p.site.name != "a" {
			t.Errorf("%s coordinates, and a is the most senior", p.site.name)
		}
	}
}

// TestEpochIsNotAheadOfTheWallClock: a founder with the fastest clock that is allowed
// has waited long for the other.
func TestEpochIsNotAheadOfTheWallClock(t *testing.T) {
	n := newNet(t, 1, 2, 0, nil)
	n.site("a").rate = 1.05
	n.start("a")
	n.run(300 * second)
	n.start("b")
	n.gather(10*second, "a", "b")
	n.quiet()
	if p, most := n.authority(), uint64(1000+n.now/second); p.site.name != "a" || p.view.Epoch.Counter > most {
		t.Errorf("%s acts in epoch %d, and the wall clock shows %d", p.site.name, p.view.Epoch.Counter, most)
	}
}

func TestBootstrapNeedsAllFounders(t *testing.T) {
	n := newNet(t, 1, 3, 0, nil)
	n.start("a", "b")
	n.run(20 * second)
	if p := n.authority(); p != nil {
		t.Fatalf("%s acts without c", p.site.name)
	}
	if s := n.site("a").live.call(&Who{}).(*Self); s.State != Joining || !strings.HasSuffix(s.Why, "every voter: no answer from c:1") {
		t.Errorf("a is %v: %s", s.State, s.Why)
	}
	n.start("c")
	n.gather(10*second, "a", "b", "c")
	n.quiet()
}

// TestCoordinatorCrash: the survivors keep their leases, and the next authority acts
// within S + T and the exclusion wait.
func TestCoordinatorCrash(t *testing.T) {
	for _, size := range []int{3, 5, 7} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			n := formed(t, size, 1, nil)
			n.site("a").crash()
			crashed := n.now
			rest := n.names()[1:]
			n.until(2*second, "a new view", func() bool { v := n.site("b").live.view; return v.Epoch.Counter > 1000 && v.Installed })
			halted := n.now - crashed
			n.gather(10*second, rest...)
			t.Logf("a view after %v, authority after %v", halted, n.now-crashed)
			n.kept(rest...)
			if p := n.authority(); p.site.name != "b" {
				t.Errorf("%s coordinates, and b is the most senior", p.site.name)
			}
			n.start("a")
			n.gather(10*second, n.names()...)
			n.kept(rest...)
		})
	}
}

// TestCrashAtEachStepOfAnElection kills the candidate a little later each time.
func TestCrashAtEachStepOfAnElection(t *testing.T) {
	for ms := range 30 {
		n := formed(t, 3, 0, nil)
		n.lag = func() time.Duration { return 3 * time.Millisecond }
		n.delay = n.lag
		n.site("a").crash()
		n.until(3*second, "a candidate", func() bool { return n.site("b").live.cell.Promised > 1000 })
		n.run(time.Duration(ms) * time.Millisecond)
		n.site("b").crash() // in every phase: promises, the view, its acceptances

		n.run(second / 2)
		n.start("b")
		n.gather(15*second, "b", "c")
		n.start("a")
		n.gather(15*second, "a", "b", "c")
		n.quiet()
	}
}

// TestRestartOfAPromiser: a member that has been up for long restarts between its promise
// and the first grant. What the new view echoes is of its former life; it answers
// nevertheless, so that the election starts again.
func TestRestartOfAPromiser(t *testing.T) {
	n := formed(t, 3, 0, nil)
	n.run(100 * second)
	n.site("a").crash()
	n.until(3*second, "a new view", func() bool { return n.site("b").live.reign != nil })
	n.site("c").crash()
	n.start("c")
	n.gather(15*second, "b", "c")
	n.quiet()
}

// TestCoordinatorPaused: regardless of what is queued in its socket when it wakes.
func TestCoordinatorPaused(t *testing.T) {
	for _, d := range []time.Duration{3 * second / 2, 3 * second, 9 * second} {
		t.Run(d.String(), func(t *testing.T) {
			n := formed(t, 3, 0, nil)
			n.site("a").pause(d)
			n.run(d + second/100)
			n.gather(20*second, "a", "b", "c")
			n.kept("b", "c")
		})
	}
}

// TestMemberPaused: a pause within the lease costs nothing.
func TestMemberPaused(t *testing.T) {
	n := formed(t, 3, 0, nil)
	n.site("c").pause(3 * second / 2)
	n.run(10 * second)
	n.kept("a", "b", "c")
	n.site("c").pause(5 * second)
	n.gather(20*second, "a", "b")
	n.gather(20*second, "a", "b", "c")
	n.kept("a", "b")
	if n.site("c").live.lapses == 0 {
		t.Error("c has kept its lease for 5 s without a word")
	}
}

// TestIsolatedCoordinator: with one loyal member, in the minority, alone.
func TestIsolatedCoordinator(t *testing.T) {
	for _, loyal := range []string{"", "b", "e"} {
		t.Run("with "+loyal, func(t *testing.T) {
			n := formed(t, 5, 0, nil)
			others := []string{}
			for _, name := range []string{"b", "c", "d", "e"} {
				if name != loyal {
					others = append(others, name)
				}
			}
			n.isolate("a", 30*second, others...)
			n.until(12*second, "another authority", func() bool { p := n.authority(); return p != nil && p.site.name != "a" })
			n.run(5 * second)
			if n.site("a").live.leased {
				t.Error("a believes its lease")
			}
			n.heal()
			n.gather(20*second, n.names()...)
			n.quiet()
		})
	}
}

func TestOneWayCuts(t *testing.T) {
	for _, from := range []string{"a", "b", "c"} {
		for _, to := range []string{"a", "b", "c"} {
			if from == to {
				continue
			}
			t.Run(from+" to "+to, func(t *testing.T) {
				n := formed(t, 3, 0, nil)
				n.site(from).cut[n.site(to)] = n.now + 15*second
				n.run(15 * second)
				n.gather(20*second, "a", "b", "c")
				n.quiet()
			})
		}
	}
}

func TestTwoCandidatesAtOnce(t *testing.T) {
	n := formed(t, 5, 0, nil)
	n.site("a").crash()
	for _, name := range []string{"c", "d"} {
		p := n.site(name).live
		n.after(second, func() {
			p.followed, p.deferred, p.tryAt = false, 2, p.local() // as impatient as can be
			p.step(protocol.Event{Kind: protocol.Tick})
		})
	}
	n.gather(15*second, "b", "c", "d", "e")
	n.kept("b", "c", "d", "e")
}

// TestAcceptedByAMinority: the view reaches one member, and its coordinator dies.
func TestAcceptedByAMinority(t *testing.T) {
	n := formed(t, 5, 0, nil)
	n.site("a").crash()
	n.filter = func(from, to *site, msg any) bool {
		_, isView := msg.(NewView)
		return !isView || to.name == "e"
	}
	n.until(5*second, "acceptance by e", func() bool { return n.site("e").live.cell.Accepted.Epoch.Counter > 1000 })
	n.run(second / 20)
	candidate := n.site("e").live.cell.Accepted.Members[0].Name
	n.site(candidate).crash()
	n.filter = nil
	n.run(2 * second)
	n.start()
	n.gather(20*second, n.names()...)
	n.quiet()
}

// TestShrinkAndGrow: 5, 3, 2, 1 and back, the dropped ones meeting meanwhile.
func TestShrinkAndGrow(t *testing.T) {
	n := formed(t, 5, 0, nil)
	n.split(120*second, "d", "e")
	n.gather(20*second, "a", "b", "c")
	n.split(120*second, "c", "d", "e")
	n.gather(20*second, "a", "b")
	n.split(120*second, "b", "c", "d", "e")
	n.gather(20*second, "a")
	n.run(20 * second)
	if p := n.authority(); p == nil || p.site.name != "a" {
		t.Fatal("a does not act alone")
	}
	n.heal()
	n.gather(30*second, n.names()...)
	n.kept("a")
}

// TestTieOfTwo: with the senior dead no member acts, and its status says so; with the junior
// dead the senior goes on.
func TestTieOfTwo(t *testing.T) {
	n := formed(t, 2, 0, nil)
	n.site("b").crash()
	n.gather(10*second, "a")
	n.kept("a")
	n.start("b")
	n.gather(10*second, "a", "b")
	n.site("a").crash()
	n.run(20 * second)
	if n.authority() != nil {
		t.Fatal("b acts without a")
	}
	if s := n.site("b").live.call(&Who{}).(*Self); s.State != Joining || s.Why != "no coordinator is known that a quorum follows" {
		t.Errorf("b is %v: %s", s.State, s.Why)
	}
	n.start("a")
	n.gather(15*second, "a", "b")
	n.quiet()
}

// TestLeaveInGoodOrder: no member is waited for when a member leaves in good order, the
// coordinator included.
func TestLeaveInGoodOrder(t *testing.T) {
	for _, name := range []string{"a", "b", "c"} {
		t.Run(name, func(t *testing.T) {
			n := formed(t, 3, 1, nil)
			p := n.site(name).live
			p.call(&Leave{Empty: true})
			sentAt := n.now
			n.until(2*second, "the answer", func() bool { return len(p.last) > 0 })
			if left, ok := p.last[0].Result.(*Left); !ok || left.Err != nil {
				t.Fatalf("%+v", p.last)
			}
			n.site(name).crash()
			var rest []string
			for _, other := range n.names() {
				if other != name {
					rest = append(rest, other)
				}
			}
			n.gather(2*second, rest...)
			t.Logf("without %s after %v", name, n.now-sentAt)
			n.kept(rest...)
			n.start(name)
			n.gather(5*second, n.names()...)
			n.kept(rest...)
		})
	}
}

// TestLeaveTogether: several members leave at once, all of them too, and each has its
// answer soon: no member waits for those that are going as well.
func TestLeaveTogether(t *testing.T) {
	for _, going := range []string{"ab", "ac", "bc", "abc", "abcd", "abcde", "ade", "bcde", "abd"} {
		for _, founders := range []int{2, 3, 4} {
			t.Run(fmt.Sprintf("%s of %d", going, founders), func(t *testing.T) {
				n := formed(t, founders, 5-founders, nil)
				var leavers []*process
				began := n.now
				for _, name := range going {
					p := n.site(string(name)).live
					p.call(&Leave{Empty: true})
					leavers = append(leavers, p)
				}
				n.until(4*second, "the answers", func() bool {
					return !slices.ContainsFunc(leavers, func(p *process) bool {
						if len(p.last) > 0 && p.alive() {
							p.site.crash() // its process ends when it has its answer
						}
						return len(p.last) == 0
					})
				})
				t.Logf("after %v", n.now-began)
				n.quiet()
				n.start()
				n.gather(20*second, n.names()...)
				n.quiet()
			})
		}
	}
}

// TestLeaveWithPromises: what clients believe is waited for, however politely their
// member went.
func TestLeaveWithPromises(t *testing.T) {
	n := formed(t, 3, 0, nil)
	p := n.site("a").live
	p.want(0, true)
	n.run(second / 2)
	p.promiseClient()
	p.call(&Leave{Empty: true})
	n.until(5*second, "the answer", func() bool { return len(p.last) > 0 })
	n.site("a").crash()
	n.gather(10*second, "b", "c")
	n.kept("b", "c")
}

func TestJoinDuringAnElection(t *testing.T) {
	n := formed(t, 3, 1, nil)
	n.site("d").crash()
	n.gather(10*second, "a", "b", "c")
	n.site("a").crash()
	n.run(second)
	n.start("d")
	n.gather(15*second, "b", "c", "d")
	n.kept("b", "c")
}

func TestRollingRestart(t *testing.T) {
	for _, memory := range []bool{true, false} {
		t.Run(fmt.Sprintf("cells=%v", memory), func(t *testing.T) {
			n := formed(t, 3, 1, func(c *Config) { c.Kept = memory })
			for _, name := range n.names() {
				n.site(name).crash()
				n.run(second)
				n.start(name)
				n.gather(20*second, n.names()...)
			}
			n.quiet()
		})
	}
}

// TestTotalRestart: after a crash of all, the former life's clients are waited for;
// after a stop in good order, none are. Without cells all must attend.
func TestTotalRestart(t *testing.T) {
	for _, tt := range []struct {
		name    string
		memory  bool
		clients bool
		least   time.Duration
		most    time.Duration
	}{
		{"clean", true, false, 0, second},
		{"unclean", true, true, 3 * second, 5 * second},
		{"forgotten", false, true, 3 * second, 5 * second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := formed(t, 3, 0, func(c *Config) { c.Kept = tt.memory })
			for _, s := range n.sites {
				s.live.want(0, tt.clients)
			}
			n.run(second)
			for _, s := range n.sites {
				s.live.promiseClient()
				s.crash()
			}
			down := n.now
			n.start()
			n.gather(10*second, n.names()...)
			n.quiet()
			if took := n.now - down; took < tt.least || took > tt.most {
				t.Errorf("acts again after %v, want %v to %v", took, tt.least, tt.most)
			}
		})
	}
}

func TestLostCellOnOneMember(t *testing.T) {
	n := formed(t, 3, 0, nil)
	for _, name := range []string{"c", "a", "b"} {
		n.site(name).crash()
		n.site(name).lose()
		n.run(second / 2)
		n.start(name)
		n.gather(20*second, n.names()...)
	}
	n.quiet()
}

func TestDriftAtTheBound(t *testing.T) {
	for bits := range 8 {
		n := newNet(t, uint64(bits), 3, 0, nil)
		for i, s := range n.sites {
			s.rate = 1
			if bits>>i&1 == 1 {
				s.rate = 1 / 1.05
			}
		}
		n.start()
		n.gather(10*second, n.names()...)
		n.site("a").crash()
		n.gather(10*second, "b", "c")
		n.start("a")
		n.gather(10*second, n.names()...)
		n.isolate(n.authority().site.name, 8*second)
		n.run(8 * second)
		n.gather(20*second, n.names()...)
		n.quiet()
	}
}

// TestHorizon: it rises before it is used, outlives the member that needed it, and
// sinks when no member does.
func TestHorizon(t *testing.T) {
	n := formed(t, 3, 0, nil)
	p := n.site("c").live
	p.want(8*second, true)
	n.until(2*second, "a horizon", func() bool { return p.horizon.Confirmed == 8*second })
	for _, s := range n.sites {
		if cell, err := DecodeCell(s.disk); err != nil || cell.Pledges.Find(p.self, p.lease.Tenure).Reach.Span() < 8*second {
			t.Errorf("%s remembers %v (%v)", s.name, cell.Pledges, err)
		}
	}
	p.promiseClient()
	n.site("c").crash()
	lost := n.now
	n.until(5*second, "a view without c", func() bool { return len(n.authority().view.Members) == 2 })
	if d := n.authority().view.Dropped; len(d) != 1 || d[0].Free < n.authority().local()+8*second {
		t.Errorf("c is freed at %v", d)
	}
	n.until(20*second, "the horizon sinks", func() bool {
		return n.authority().cell.Pledges.Longest() == 0
	})
	if took := n.now - lost; took < 11*second {
		t.Errorf("the horizon sank after %v, and c's client may believe for 11 s", took)
	}
	n.quiet()
}

// TestHorizonStaysLowWithoutCells: a voter without memory would forget it.
func TestHorizonStaysLowWithoutCells(t *testing.T) {
	n := formed(t, 3, 0, func(c *Config) { c.Kept = c.Name != "b" })
	p := n.site("c").live
	p.want(8*second, true)
	n.run(2 * second)
	if p.horizon.Confirmed != 0 || !p.horizon.Clients {
		t.Errorf("%+v", p.horizon)
	}
	n.quiet()
}

// TestDisagreement: a member that disagrees is refused with both values.
func TestDisagreement(t *testing.T) {
	for field, spoil := range map[string]func(*Config){
		"definition": func(c *Config) { c.Definitions = []string{"billing=grantor"} },
		"lease":      func(c *Config) { c.Lease = 4 * second },
		"drift":      func(c *Config) { c.Drift = 0.06 },
		"address":    func(c *Config) { c.Name = "a" },
	} {
		t.Run(field, func(t *testing.T) {
			n := newNet(t, 1, 2, 1, func(c *Config) {
				c.Definitions = []string{"billing=central"}
				if c.Name == "c" {
					spoil(c)
				}
			})
			n.start()
			n.until(10*second, "a refusal", func() bool { return n.site("c").failed != nil })
			if err := n.site("c").failed.Error(); !strings.Contains(err, field) || strings.Count(err, `"`) != 4 {
				t.Error(err)
			}
			n.gather(10*second, "a", "b")
			n.kept("a", "b")
		})
	}
}

// TestNameOfAnother: a name is refused while the member that has it is known to be
// alive; if that has just died, its successor elsewhere waits for the place.
func TestNameOfAnother(t *testing.T) {
	for _, dies := range []bool{false, true} {
		t.Run(fmt.Sprintf("dies=%v", dies), func(t *testing.T) {
			n := newNet(t, 1, 3, 1, func(c *Config) {
				if c.Address == "d:1" {
					c.Name = "c"
				}
			})
			n.start("a", "b", "c")
			n.gather(10*second, "a", "b", "c")
			n.run(second)
			d := n.site("d")
			if dies {
				n.site("c").crash()
			}
			d.start()
			if dies {
				n.gather(10*second, "a", "b", "d")
				if v := n.authority().view; v.Members[2].Name != "c" || v.Members[2].Address != "d:1" {
					t.Errorf("the members are %+v", v.Members)
				}
			} else {
				n.until(5*second, "a refusal", func() bool { return d.failed != nil })
			}
			n.kept("a", "b")
			if dies && d.failed != nil {
				t.Error(d.failed)
			}
		})
	}
}

// TestFoundersDisagree: refused at the start, with both lists.
func TestFoundersDisagree(t *testing.T) {
	n := newNet(t, 1, 3, 0, func(c *Config) {
		if c.Name == "c" {
			c.Founders = []string{"b:1", "c:1"}
		}
	})
	n.start()
	var failed error
	n.until(5*second, "a refusal", func() bool {
		for _, s := range n.sites {
			if s.failed != nil {
				failed = s.failed
			}
		}
		return failed != nil
	})
	if err := failed.Error(); !strings.Contains(err, `["b:1" "c:1"]`) || !strings.Contains(err, `["a:1" "b:1" "c:1"]`) {
		t.Error(err)
	}
}

// TestAloneOnAFullDisk: a coordinator that is alone and cannot write its view tries
// again now and then, sleeps in between, and acts when there is room.
func TestAloneOnAFullDisk(t *testing.T) {
	n := formed(t, 2, 0, nil)
	n.site("b").crash()
	n.until(10*second, "a view of a alone", func() bool { return len(n.site("a").live.view.Members) == 1 })
	n.site("a").crash()
	n.start("a")
	full, failed := true, 0
	n.faulty = func(s *site) bool {
		fails := full && s.live.reign != nil
		if fails {
			failed++
		}
		return fails
	}
	const while = 5 * second
	n.run(while)
	n.quiet()
	if most := int(2*while/n.site("a").live.config.Patience) + 5; failed < 5 || failed > most {
		t.Errorf("a write failed %d times in %v, want 5 to %d", failed, while, most)
	}
	full = false
	n.gather(second, "a")
	n.quiet()
}

// TestRequestOnAFullDisk: a request is tried at once, however lately a write has failed.
func TestRequestOnAFullDisk(t *testing.T) {
	n := formed(t, 2, 0, nil)
	p, full := n.site("b").live, true
	n.faulty = func(s *site) bool { return full && s.name == "b" }
	p.want(0, true)
	n.until(second, "a pause of T/2", func() bool { return p.pause == p.config.Patience/2 && !p.saving })
	if p.horizon.Clients {
		t.Error("promised what could not be written")
	}
	full = false
	p.want(0, true)
	n.until(second/50, "an answer", func() bool { return p.horizon.Clients })
	n.quiet()
}

// TestHints: a false rumour costs no member anything; a true one makes the election sooner.
func TestHints(t *testing.T) {
	n := formed(t, 3, 0, nil)
	for range 20 {
		for _, s := range n.sites {
			for _, o := range n.sites {
				s.hint(o.config.Address, false)
			}
		}
		n.run(second / 7)
	}
	n.run(3 * second)
	if n.authority().view.Epoch.Counter != 1000 {
		t.Error("rumours have made an election")
	}
	n.kept("a", "b", "c")
}

// TestPreempt: the highest id coordinates, as published, and no member loses a lease.
func TestPreempt(t *testing.T) {
	n := formed(t, 3, 0, func(c *Config) { c.Preempt = true })
	for range 3 {
		best := n.sites[0]
		for _, s := range n.sites {
			if s.live.self > best.live.self {
				best = s
			}
		}
		n.until(15*second, "the highest id", func() bool { p := n.authority(); return p != nil && p.site == best })
		best.crash()
		n.run(5 * second)
		n.start()
		n.gather(15*second, n.names()...)
	}
	n.quiet()
}

// TestStatusOfEachPhase: the notes' states, as others see them.
func TestStatusOfEachPhase(t *testing.T) {
	n := formed(t, 3, 0, nil)
	p := n.site("b").live
	seen := map[election.Status]bool{p.status(): true}
	n.site("a").crash()
	for range 4000 {
		n.run(time.Millisecond)
		seen[p.call(&Who{}).(*Self).Election.Status] = true
	}
	for _, status := range []election.Status{election.Normal, election.Halted, election.Reorganization} {
		if !seen[status] {
			t.Errorf("b was never in state %v", status)
		}
	}
	n.gather(5*second, "b", "c")
	s := p.call(&Who{}).(*Self)
	if s.State != Present || len(s.Members) != 2 || s.Members[0].Name != "b" || s.Members[1].State != Present {
		t.Errorf("%+v", s)
	}
}

// TestNewReignWhenTokensAreUsedUp: the coordinator's tokens are used up: another reign begins, no
// member loses anything, and none is waited for.
func TestNewReignWhenTokensAreUsedUp(t *testing.T) {
	n := formed(t, 3, 0, nil)
	p := n.site("a").live
	p.step(protocol.Event{Kind: protocol.Raised, Port: 1, Fact: &protocol.NeedEpoch{Above: p.view.Epoch.Counter}})
	sentAt := n.now
	n.until(second, "another reign", func() bool { q := n.authority(); return q != nil && q.view.Epoch.Counter > 1000 })
	t.Logf("after %v", n.now-sentAt)
	n.gather(5*second, "a", "b", "c")
	n.kept("a", "b", "c")
}
