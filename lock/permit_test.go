package lock

import (
	"fmt"
	"slices"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"pgregory.net/rapid"
)

// permitted drives a table that grants only by permission.
type permitted struct {
	table  *Table
	now    Time
	ids    uint64
	token  holdfast.Token
	queued []Request // all queued requests, until another decision
	out    []Decision
}

// TestPermittedGrantsAsOrdered checks that every grant was permitted, with that token, or is one more hold of an owner
// in its grant, regardless of other events. No owner has two grants of a name, and a permitted request gets what was
// asked for.
func TestPermittedGrantsAsOrdered(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := &permitted{table: newTable(rt, Config{Permitted: true, LocksPerSession: 20})}
		rt.Repeat(map[string]func(*rapid.T){
			"":        func(rt *rapid.T) { checkTable(rt, p.table) },
			"acquire": p.acquire,
			"permit":  p.permit,
			"deny":    p.deny,
			"release": func(rt *rapid.T) {
				name := p.name(rt)
				if holders := p.table.Show(name).Holders; len(holders) > 0 {
					g := rapid.SampledFrom(holders).Draw(rt, "holder")
					if err := p.table.Release(p.now, g.Session, name, g.Token, 0, &p.out); err != nil {
						rt.Fatal(err)
					}
				}
				p.follow(rt, 0)
			},
			"cancel": func(rt *rapid.T) {
				if r := p.waiter(rt); r.ID != 0 {
					p.table.Cancel(p.now, r.Session, r.Name, r.ID, &p.out)
				}
				p.follow(rt, 0)
			},
			"tick": func(rt *rapid.T) {
				p.now += 20 * Time(rapid.IntRange(0, 3).Draw(rt, "passes"))
				p.table.Tick(p.now, &p.out)
				p.follow(rt, 0)
			},
			"break": func(rt *rapid.T) {
				name := p.name(rt)
				if broken, err := p.table.Break(p.now, name, 0, &p.out); (err == nil) != (len(p.table.Show(name).Holders) > 0) {
					rt.Fatalf("broke %v: %v", broken, err)
				}
				p.follow(rt, 0)
			},
			"end session": func(rt *rapid.T) {
				p.table.EndSession(p.now, drawSession(rt), holdfast.SessionExpired, &p.out)
				p.follow(rt, 0)
			},
			"pause": func(rt *rapid.T) { p.table.Pause() },
			"resume": func(rt *rapid.T) {
				p.table.Resume(p.now, &p.out)
				p.follow(rt, 0)
			},
		})
	})
}

func (p *permitted) name(rt *rapid.T) string { return rapid.SampledFrom(worldNames).Draw(rt, "name") }

func (p *permitted) acquire(rt *rapid.T) {
	p.ids++
	r := Request{
		Session: drawSession(rt), ID: p.ids, Name: p.name(rt), Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.Mode(rapid.IntRange(0, 2).Draw(rt, "mode"))}, Owner: rapid.SampledFrom([]string{"", "x", "y"}).Draw(rt, "owner")},
		Try:     rapid.IntRange(0, 3).Draw(rt, "try") == 0,
		Arrived: p.now, WaitEnd: Never,
	}
	if r.Mode == holdfast.ModeSlots {
		r.Units, r.Capacity = rapid.IntRange(1, 3).Draw(rt, "units"), 5
	}
	if rapid.Bool().Draw(rt, "limited") {
		r.WaitEnd = p.now + 20*Time(rapid.IntRange(0, 3).Draw(rt, "wait"))
	}
	p.table.Acquire(p.now, &r, &p.out)
	if len(p.out) == 1 && p.out[0].Kind == Queued {
		p.queued = append(p.queued, r)
	}
	p.follow(rt, 0)
}

// waiter draws a waiting request, or the zero one.
func (p *permitted) waiter(rt *rapid.T) Request {
	if len(p.queued) == 0 {
		return Request{}
	}
	return rapid.SampledFrom(p.queued).Draw(rt, "waiter")
}

func (p *permitted) permit(rt *rapid.T) {
	r := p.waiter(rt)
	shown := p.table.Show(r.Name)
	units := r.Units
	for _, g := range shown.Holders {
		if g.Mode != r.Mode || g.Mode == holdfast.ModeExclusive {
			return
		}
		units += g.Units
	}
	if r.ID == 0 || r.Mode == holdfast.ModeSlots && units > r.Capacity {
		return
	}
	p.token += holdfast.Token(rapid.IntRange(1, 3).Draw(rt, "by"))
	if !p.table.Permit(p.now, r.Session, r.Name, r.ID, p.token, &p.out) {
		rt.Fatalf("request %d waits and is not granted", r.ID)
	}
	if first := p.out[0]; first.Kind != Granted || first.Request != r.ID || first.Token != p.token || first.Mode != r.Mode || first.Units != r.Units {
		rt.Fatalf("request %d is answered %+v, under token %d", r.ID, first, p.token)
	}
	if !p.table.Grants(r.Name, p.token) {
		rt.Fatalf("token %d was granted and is not there", p.token)
	}
	p.follow(rt, p.token)
}

func (p *permitted) deny(rt *rapid.T) {
	r := p.waiter(rt)
	if r.ID == 0 {
		return
	}
	if !p.table.Deny(p.now, r.Session, r.Name, r.ID, &HeldBy{Owner: "z"}, &p.out) || p.out[0].Kind != Refused || p.out[0].Request != r.ID {
		rt.Fatalf("request %d waits and is answered %+v", r.ID, p.out)
	}
	if p.table.Deny(p.now, r.Session, r.Name, r.ID, holdfast.ErrConflict, &p.out) {
		rt.Fatalf("request %d is refused twice", r.ID)
	}
	p.follow(rt, 0)
}

// follow checks the decisions, given the permitted token, if any.
func (p *permitted) follow(rt *rapid.T, token holdfast.Token) {
	for _, d := range p.out {
		if d.Kind == Granted && d.Token != token && d.Owner == "" {
			rt.Fatalf("decided %+v, which was not permitted", d)
		}
		if d.Kind != Queued {
			p.queued = slices.DeleteFunc(p.queued, func(r Request) bool {
				return r.ID == d.Request && r.Session == d.Session && r.Name == d.Name
			})
		}
	}
	p.out = p.out[:0]
	waiting := 0
	for _, name := range worldNames {
		shown := p.table.Show(name)
		waiting += len(shown.Waiters)
		for before, w := range shown.Waiters {
			d, waits := p.table.Queued(w.Session, name, w.Request)
			if !waits || d.Kind != Queued || d.Position != before || d.Request != w.Request || d.Name != name {
				rt.Fatalf("request %d of %q waits behind %d and is answered %v, %+v", w.Request, name, before, waits, d)
			}
		}
		for _, g := range shown.Holders {
			if d, waits := p.table.Queued(g.Session, name, 1<<40); waits {
				rt.Fatalf("a request that was never made is answered %+v", d)
			}
		}
		owners := map[string]bool{}
		for _, g := range shown.Holders {
			owner := fmt.Sprint(g.Session, g.Owner)
			if g.Token > p.token || owners[owner] && g.Owner != "" && !g.Revoked {
				rt.Fatalf("%q is held by %+v", name, shown.Holders)
			}
			owners[owner] = !g.Revoked
		}
	}
	if waiting != len(p.queued) {
		rt.Fatalf("%d wait, and %d have got no other decision", waiting, len(p.queued))
	}
}

// TestPermitRefusesToLie checks that three kinds of permits are refused: those that do not fit, those that would order
// grants the wrong way, and those that a table decides itself.
func TestPermitRefusesToLie(t *testing.T) {
	for _, c := range []struct {
		name   string
		config Config
		token  holdfast.Token
		mode   holdfast.Mode
		panics bool
	}{
		{"it fits", Config{Permitted: true}, 8, holdfast.ModeShared, false},
		{"another holds", Config{Permitted: true}, 8, holdfast.ModeExclusive, true},
		{"the token of another", Config{Permitted: true}, 7, holdfast.ModeShared, true},
		{"a lower token", Config{Permitted: true}, 6, holdfast.ModeShared, true},
		{"a table of all", Config{}, 8, holdfast.ModeShared, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := newTable(t, c.config)
			table.Pause()
			var out []Decision
			ask := func(id uint64, mode holdfast.Mode) {
				table.Acquire(0, &Request{Session: SessionID{1, 1}, ID: id, Name: "a", Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: mode}}, WaitEnd: Never}, &out)
			}
			ask(1, holdfast.ModeShared)
			if c.config.Permitted {
				table.Permit(0, SessionID{1, 1}, "a", 1, 7, &out)
			}
			ask(2, c.mode)
			defer func() {
				if r := recover(); (r != nil) != c.panics {
					t.Errorf("permitted: %v", r)
				}
			}()
			table.Permit(0, SessionID{1, 1}, "a", 2, c.token, &out)
		})
	}
}
