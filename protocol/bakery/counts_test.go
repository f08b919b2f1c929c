package bakery_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
)

const (
	schedules = 60 // for each number of members
	wanted    = 40 // locks in each schedule
)

// sizes are clusters of one, two and three leaders, and one with members that do not lead.
var sizes = []int{1, 2, 3, 5}

func exclusive(*schedule) lock.Request {
	return lock.Request{Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeExclusive}}}
}

// kindOf is the type of an envelope's body, without its package.
func kindOf(body bakery.Body) string {
	return strings.TrimPrefix(fmt.Sprintf("%T", body), "bakery.")
}

// steps are the messages of an uncontended lock to each of the other leaders, with their answers.
func steps(published bool) []string {
	if published {
		return []string{
			"Entering", "Entered", "GetMax", "Max", "Add", "Added", "Exiting", "Ready", "Activate", "Activated",
		}
	}
	return []string{"Entering", "Entered", "Add", "Added"}
}

// takeSent returns the messages sent since the last call.
func (s *schedule) takeSent() map[string]int {
	sent := maps.Clone(s.sent)
	clear(s.sent)
	return sent
}

// next performs the next act of a client, and all its consequences.
func (s *schedule) next(c *client) map[string]int {
	s.act(c)
	s.drain()
	return s.takeSent()
}

// TestUncontendedLockCosts checks that a lock takes 20 messages between three leaders as published and 8 merged, 10 and
// 4 between two, and none with one. Its end is a Drop to each other leader. A member that does not lead also has Lock
// and Locked, Unlock and Unlocked.
func TestUncontendedLockCosts(t *testing.T) {
	for _, published := range []bool{false, true} {
		for _, n := range sizes {
			s := newSchedule(t, 1, n, 1, bakery.Config{Options: bakery.Options{Published: published}})
			s.requests, s.left = exclusive, n
			others := min(n, 3) - 1
			for i, p := range s.members {
				c := p.clients[0]
				grant, end := map[string]int{}, map[string]int{}
				for _, step := range steps(published) {
					grant[step] = others
				}
				end["Drop"] = others
				if i >= 3 {
					grant["Lock"], grant["Locked"], end["Unlock"], end["Unlocked"] = 1, 1, 1, 1
				}
				if n == 1 {
					grant, end = map[string]int{}, map[string]int{}
				}
				if sent := s.next(c); c.state != holds || !maps.Equal(sent, grant) {
					t.Errorf("published=%t n=%d: member %d sends %v, want %v", published, n, p.id, sent, grant)
				}
				if sent := s.next(c); !maps.Equal(sent, end) {
					t.Errorf("published=%t n=%d: member %d ends by %v, want %v", published, n, p.id, sent, end)
				}
			}
		}
	}
}

// TestTurnCosts checks the cost of a turn: a lock that ends while many wait announces that, and the next one asks for
// agreement once and gets one answer from each. This takes six messages between three leaders, however many wait, and
// none of the other waiters gets any. (A leader that is asked before it has heard of the end refuses, and takes that
// back: TestContendedLockCosts.)
func TestTurnCosts(t *testing.T) {
	const crowd = 20
	for _, published := range []bool{false, true} {
		for _, n := range sizes {
			s := newSchedule(t, 1, n, crowd, bakery.Config{Options: bakery.Options{Published: published}})
			s.requests, s.left, s.inOrder = exclusive, n*crowd, true
			for _, p := range s.members {
				for _, c := range p.clients {
					s.next(c)
				}
			}
			others := min(n, 3) - 1
			for turn := range n*crowd - 1 {
				holder, waiting := s.holder(), s.left
				sent := s.next(holder)
				want := map[string]int{}
				if others > 0 {
					want["Drop"], want["Activate"], want["Activated"] = others, others, others
				}
				if holder.session.Member > 3 {
					want["Unlock"], want["Unlocked"] = 1, 1
				}
				if next := s.holder(); next == nil {
					t.Fatalf("published=%t n=%d: turn %d: no client holds, %d wait", published, n, turn, waiting)
				} else if next.session.Member > 3 {
					want["Locked"] = 1
				}
				if !maps.Equal(sent, want) {
					t.Fatalf("published=%t n=%d: turn %d: sent %v, want %v", published, n, turn, sent, want)
				}
			}
		}
	}
}

// holder is the client that holds, or nil.
func (s *schedule) holder() *client {
	for _, p := range s.members {
		for _, c := range p.clients {
			if c.state == holds {
				return c
			}
		}
	}
	return nil
}

// TestContendedLockCosts checks that each lock sends the steps of its set once to each other leader, regardless of
// contention and the order of messages. Contention adds an answer of a leader that could not agree at first and now
// can. The merged set also has Exiting, Activate and Activated, if the ticket could not exit or be agreed to with its
// number.
func TestContendedLockCosts(t *testing.T) {
	for _, published := range []bool{false, true} {
		for _, n := range sizes {
			for _, clients := range []int{1, 3} {
				late, waited := 0, 0
				each(t, schedules, func(t testing.TB, seed uint64) {
					s := newSchedule(t, seed, n, clients, bakery.Config{Options: bakery.Options{Published: published}})
					s.requests, s.left = exclusive, wanted
					s.run()
					each := wanted * (min(n, 3) - 1)
					for _, step := range append(steps(published), "Drop") {
						if sent := s.sent[step]; sent != each && !strings.HasPrefix(step, "Activate") {
							t.Errorf("published=%t n=%d: %d %s, want %d", published, n, sent, step, each)
						}
					}
					if s.sent["Exiting"] > each {
						t.Errorf("published=%t n=%d: %d Exiting of at most %d", published, n, s.sent["Exiting"], each)
					}
					if s.sent["Activate"] > each+2 { // one is asked again where another grant was counted meanwhile
						t.Errorf("published=%t n=%d: %d Activate of at most %d", published, n, s.sent["Activate"], each)
					}
					// Each Activate is answered, and each refusal taken back.
					again := s.sent["Activated"] - s.sent["Activate"]
					if again < 0 || again > each {
						t.Errorf("published=%t n=%d: %d Activate and %d Activated", published, n, s.sent["Activate"], s.sent["Activated"])
					}
					outside := s.sent["Lock"]
					if s.sent["Locked"] != outside || s.sent["Unlock"] != outside || s.sent["Unlocked"] != outside || s.sent["Queued"] > outside {
						t.Errorf("published=%t n=%d: sent %v", published, n, s.sent)
					}
					late += again
					waited += s.waited
				})
				if n > 1 && waited == 0 || n > 2 && late == 0 {
					t.Errorf("published=%t n=%d clients=%d: %d waited, %d agreed later", published, n, clients, waited, late)
				}
			}
		}
	}
}

// TestLossyNetwork checks the same locks over a network that loses, duplicates and reorders messages, as time passes.
func TestLossyNetwork(t *testing.T) {
	for _, published := range []bool{false, true} {
		for _, n := range sizes {
			each(t, schedules/4, func(t testing.TB, seed uint64) {
				s := newSchedule(t, seed, n, 2, bakery.Config{Options: bakery.Options{Published: published}})
				s.lossy = true
				s.requests, s.left = exclusive, wanted
				s.run()
				if s.grants != wanted {
					t.Errorf("published=%t n=%d: %d of %d were granted", published, n, s.grants, wanted)
				}
			})
		}
	}
}
