package lock_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/test/golden"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// conversation plays calls to a table, in the format of package golden. In addition to the requests listed there:
//
//	new [drift=…] [names=…] [waiters=…] [locks=…] [history=…] [permitted]
//	reign R [count=…]                                 BeginReign, then Resume
//	at 5s                                             time passes; Tick
//	late 5s                                           time passes, without a Tick
//	let-in s1 #1 of=2 owner=… [wait=5s] [hold=5s]     s2's owner is let in, past the suspension s1 #1
//	adopt s1 #1 NAME token=1:1 [until=5s] [revoked] [as lock] · adopt-revoked …
//	displace s1 #1 NAME token=1:1 below=1:3,1:2 [as lock] · revoke s1 NAME token=1:1
//	permit s1 #1 NAME token=1:1 · deny s1 #1 NAME · end-holds · grants NAME token=1:1     in a permitted table
//	pause · resume · counts [s1] · restore [limit=…] [at=5s]
type conversation struct {
	table *lock.Table
	now   lock.Time
	out   []lock.Decision
	said  strings.Builder
}

func TestConversations(t *testing.T) {
	golden.Play(t, func(t *testing.T) func(*golden.Line) string {
		c := &conversation{table: newTable(t, lock.Config{})}
		return func(l *golden.Line) string {
			c.said.Reset()
			c.play(l)
			for _, decision := range c.out {
				c.say("%s", described(&decision))
			}
			c.out = c.out[:0]
			lock.CheckTable(l, c.table)
			return c.said.String()
		}
	})
}

func newTable(t testing.TB, config lock.Config) *lock.Table {
	t.Helper()
	table, err := lock.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func (c *conversation) say(format string, args ...any) { fmt.Fprintf(&c.said, format+"\n", args...) }

// failed records that there is an error.
func (c *conversation) failed(err error) {
	if err != nil {
		c.say("error: %v", err)
	}
}

// known records that the target does not exist.
func (c *conversation) known(known bool) {
	if !known {
		c.say("unknown")
	}
}

// sessionOf reads a session; - is none.
func sessionOf(l *golden.Line) lock.SessionID {
	l.Helper()
	member, number := l.Asked()
	if member == "-" {
		return lock.SessionID{}
	}
	return lock.SessionID{Member: 1, Number: number}
}

func (c *conversation) play(l *golden.Line) {
	l.Helper()
	switch l.Verb {
	case "new":
		c.table, c.now = newTable(l, configOf(l)), 0
	case "reign":
		c.table.BeginReign(l.Count(), uint32(l.Number("count")))
		c.table.Resume(c.now, &c.out)
	case "at":
		c.now = l.Time()
		c.table.Tick(c.now, &c.out)
		if wake := c.table.Wake(); wake != lock.Never {
			c.say("wake at %v", wake)
		}
	case "late":
		c.now = l.Time()
	case "pause":
		c.table.Pause()
	case "resume":
		c.table.Resume(c.now, &c.out)
	case "counts":
		c.counts(l)
	case "restore":
		c.restore(l)
	case "end-holds":
		held := func(_ string, _ lock.SessionID, _ uint64, token holdfast.Token) bool { return token != 0 }
		c.table.EndWhere(c.now, holdfast.MemberLost, held, &c.out)
	case "grants":
		c.say("granted: %v", c.table.Grants(l.Name(), l.Token()))
	case "show", "break":
		c.ask(l.Call(lock.SessionID{}, c.now))
	default:
		session := sessionOf(l)
		if asked := l.Call(session, c.now); asked != nil {
			c.ask(asked)
			return
		}
		c.succeed(l, session)
	}
}

// ask plays a call of a client or an operator.
func (c *conversation) ask(asked any) {
	switch r := asked.(type) {
	case *lock.Request:
		c.table.Acquire(c.now, r, &c.out)
	case *protocol.Release:
		c.failed(c.table.Release(c.now, r.Session, r.Name, r.Token, r.Request, &c.out))
	case *protocol.Cancel:
		c.known(c.table.Cancel(c.now, r.Session, r.Name, r.Request, &c.out))
	case *protocol.Extend:
		c.failed(c.table.Extend(c.now, r.Session, r.Name, r.Token, r.Hold))
	case *protocol.EndSession:
		c.table.EndSession(c.now, r.Session, r.Why, &c.out)
	case *protocol.Break:
		_, err := c.table.Break(c.now, r.Name, r.Token, &c.out)
		c.failed(err)
	case *protocol.Show:
		c.print(c.table.Show(r.Name))
	}
}

// succeed plays calls of a protocol that grants by permission, and of an authority that succeeds another.
func (c *conversation) succeed(l *golden.Line, session lock.SessionID) {
	l.Helper()
	r := &lock.Request{Session: session, ID: l.Request()}
	if l.Verb == "let-in" {
		of := lock.SessionID{Member: 1, Number: l.Number("of")}
		owner := l.Value("owner")
		if !c.table.LetIn(c.now, l.Lock(r, c.now), of, owner, &c.out) {
			c.say("nothing is let in")
		}
		return
	}
	r.Name = l.Name()
	l.Lock(r, 0)
	// A hold that another table has granted.
	entry := lock.Entry{
		Name: r.Name, Session: session, Request: r.ID, Attributes: holdfast.Attributes{Shape: r.Shape, Owner: r.Owner},
		Token: l.Token(), Left: lock.Never, Revoked: l.Flag("revoked"),
	}
	end := l.DurationOr("until", lock.Never)
	switch l.Verb {
	case "permit":
		c.known(c.table.Permit(c.now, session, r.Name, r.ID, entry.Token, &c.out))
	case "deny":
		c.known(c.table.Deny(c.now, session, r.Name, r.ID, holdfast.ErrConflict, &c.out))
	case "adopt":
		c.failed(c.table.Adopt(c.now, &entry, end))
	case "adopt-revoked":
		c.failed(c.table.AdoptRevoked(c.now, &entry, end, holdfast.Duplicate, &c.out))
	case "displace":
		var below []lock.Grant
		for _, text := range l.List("below") {
			for _, g := range c.table.Show(r.Name).Holders {
				if g.Token == l.ToToken(text) {
					below = append(below, g)
				}
			}
		}
		c.say("fits: %v", c.table.Displace(&entry, below, holdfast.Duplicate, &c.out))
	case "revoke":
		c.say("held: %v", c.table.Revoke(session, r.Name, entry.Token, holdfast.Duplicate, &c.out))
	default:
		l.Unknown()
	}
}

func (c *conversation) counts(l *golden.Line) {
	l.Helper()
	if l.More() {
		holds, waits := c.table.Session(sessionOf(l))
		c.say("holds=%d waits=%d", holds, waits)
		return
	}
	c.say("names=%d holds=%d waiters=%d reign=%d exhausted=%v", c.table.Names(), c.table.Holds(), c.table.Waiters(), c.table.Reign(), c.table.Exhausted())
	if grant, suspended := c.table.Suspension(); suspended {
		c.say("suspended by %s", describeGrant(grant))
	}
	if n := c.table.Suspending(); n != 0 {
		c.say("%d wait to suspend it", n)
	}
}

func (c *conversation) restore(l *golden.Line) {
	l.Helper()
	limit, then := max(1, int(l.Number("limit"))), l.DurationOr("at", c.now)
	copied := newTable(l, c.table.Limits())
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		chunk := c.table.Snapshot(c.now, cursor, limit)
		if err := copied.Restore(then, chunk); err != nil {
			l.Fatal(err)
		}
		c.say("%d entries", len(chunk.Entries))
		cursor = chunk.Next
	}
	c.table, c.now = copied, then
}

func (c *conversation) print(l lock.Lock) {
	if len(l.Holders)+len(l.Waiters) == 0 {
		c.say("free")
	} else {
		c.say("%v units=%d capacity=%d token=%s", l.Mode, l.Units, l.Capacity, golden.Token(l.Token))
	}
	for _, g := range l.Holders {
		c.say("held by %s", describeGrant(g))
	}
	for _, w := range l.Waiters {
		c.say("wanted by s%d #%d %v%s since=%v%s", w.Session.Number, w.Request, w.Mode,
			describeTexts(w.Owner, w.Client, w.Reason, w.Units), w.Since, describeUntil(w.Until))
	}
	for _, g := range l.History {
		c.say("was held by %s", describeGrant(g))
	}
}

func describeGrant(g lock.Grant) string {
	s := fmt.Sprintf("s%d %v%s token=%s since=%v%s", g.Session.Number, g.Mode,
		describeTexts(g.Owner, g.Client, g.Reason, g.Units), golden.Token(g.Token), g.Since, describeUntil(g.Until))
	if g.Holds != 1 {
		s += fmt.Sprintf(" holds=%d", g.Holds)
	}
	if g.Revoked {
		s += " revoked"
	}
	return s
}

func describeTexts(owner, client, reason string, units int) (s string) {
	for _, text := range [...]struct{ key, value string }{{"owner", owner}, {"client", client}, {"reason", reason}} {
		if text.value != "" {
			s += " " + text.key + "=" + text.value
		}
	}
	if units != 0 {
		s += fmt.Sprintf(" units=%d", units)
	}
	return s
}

func describeUntil(until lock.Time) string {
	if until == lock.Never {
		return ""
	}
	return fmt.Sprintf(" until=%v", until)
}

// described adds the table's own details of a decision: since when, how much, and after how long.
func described(d *lock.Decision) string {
	s := golden.Session(d.Session) + golden.Decision(d)
	if d.Kind == lock.Granted {
		s += fmt.Sprintf(" since=%v", d.Since)
		if d.Mode != holdfast.ModeExclusive {
			s += " " + lock.Shape(d.Mode, d.Units, d.Capacity)
		}
	}
	if d.Waited != 0 {
		s += fmt.Sprintf(" waited=%v", d.Waited)
	}
	return s
}

func configOf(l *golden.Line) lock.Config {
	l.Helper()
	c := lock.Config{
		WaitersPerName: int(l.Number("waiters")), Names: int(l.Number("names")), LocksPerSession: int(l.Number("locks")),
		History: int(l.Number("history")), Permitted: l.Flag("permitted"),
	}
	if drift := l.Value("drift"); drift != "" {
		var err error
		if c.Drift, err = strconv.ParseFloat(drift, 64); err != nil {
			l.Wrong("%v", err)
		}
	}
	return c
}
