package lock

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/holdfast-locks/holdfast"
)

// conversation plays the scripts in testdata: what is asked of a table, and below
// it word for word what the table says. A script is rewritten with -rewrite.
//
//	new [drift=…] [names=…] [waiters=…] [locks=…] [history=…] [permitted]
//	reign R [count=…]                                 BeginReign, then Resume
//	at 5s                                             time passes; Tick
//	late 5s                                           time passes, and the table is not told
//	acquire s1 #1 NAME [shared] [slots=2/5] [owner=…] [client=…] [reason=…] [try] [wait=5s] [hold=5s] [age=1s]
//	release s1 NAME [#1] [token=1.1] · cancel s1 #1 NAME · end s1 [why=…]
//	let-in s1 #1 of=2 owner=… [wait=5s] [hold=5s]     s2's owner is let in, past the suspension s1 #1
//	break NAME [token=1.1] · extend s1 NAME token=1.1 hold=5s
//	adopt s1 #1 NAME token=1.1 [until=5s] [revoked] [shared] [slots=2/5] [owner=…] · adopt-revoked …
//	displace s1 #1 NAME token=1.1 below=1.3+1.2 [shared] [slots=2/5] · revoke s1 NAME token=1.1
//	permit s1 #1 NAME token=1.1 · deny s1 #1 NAME · end-holds · grants NAME token=1.1     in a permitted table
//	pause · resume · show NAME · counts [s1] · restore [limit=…] [at=5s]
//
// The name of the table itself, which suspends it, is written as whole.
// A token is written as its reign, a dot, its count.
type conversation struct {
	table *Table
	now   Time
	out   []Decision
	said  strings.Builder
}

func TestConversations(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		c := &conversation{table: newTable(t, Config{})}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			c.said.Reset()
			c.play(t, d)
			for _, decision := range c.out {
				c.say("%s", describeDecision(decision))
			}
			c.out = c.out[:0]
			checkTable(t, c.table)
			return c.said.String()
		})
	})
}

func (c *conversation) say(format string, args ...any) { fmt.Fprintf(&c.said, format+"\n", args...) }

func (c *conversation) play(t *testing.T, d *datadriven.TestData) {
	args := parseArgs(t, d)
	switch d.Cmd {
	case "new":
		c.table = newTable(t, args.config(t))
		c.now = 0
	case "reign":
		reign, _ := strconv.ParseUint(d.CmdArgs[0].Key, 10, 64)
		c.table.BeginReign(reign, uint32(args.number(t, "count")))
		c.table.Resume(c.now, &c.out)
	case "at":
		c.now = duration(t, d.CmdArgs[0].Key)
		c.table.Tick(c.now, &c.out)
		if wake := c.table.Wake(); wake != Never {
			defer c.say("wake at %v", wake)
		}
	case "late":
		c.now = duration(t, d.CmdArgs[0].Key)
	case "acquire":
		r := args.request(t, c.now)
		c.table.Acquire(c.now, &r, &c.out)
	case "release":
		if err := c.table.Release(c.now, args.session, args.name, args.token, args.id, &c.out); err != nil {
			c.say("error: %v", err)
		}
	case "cancel":
		if !c.table.Cancel(c.now, args.session, args.name, args.id, &c.out) {
			c.say("unknown")
		}
	case "let-in":
		r := args.request(t, c.now)
		r.Owner = ""
		of := SessionID{Member: 1, Number: uint64(args.number(t, "of"))}
		if !c.table.LetIn(c.now, &r, of, args.values["owner"], &c.out) {
			c.say("nothing is let in")
		}
	case "end":
		c.table.EndSession(c.now, args.session, holdfast.Loss(args.values["why"]), &c.out)
	case "break":
		if _, err := c.table.Break(c.now, args.name, args.token, &c.out); err != nil {
			c.say("error: %v", err)
		}
	case "extend":
		if err := c.table.Extend(c.now, args.session, args.name, args.token, args.duration(t, "hold")); err != nil {
			c.say("error: %v", err)
		}
	case "pause":
		c.table.Pause()
	case "resume":
		c.table.Resume(c.now, &c.out)
	case "show":
		c.print(c.table.Show(args.name))
	case "counts":
		c.counts(args)
	case "restore":
		c.restore(t, args)
	case "permit", "deny", "end-holds", "grants":
		c.permit(d.Cmd, args)
	default:
		c.succeed(t, d, args)
	}
}

// permit plays what only a protocol asks that grants by permission.
func (c *conversation) permit(cmd string, args arguments) {
	known := true
	switch cmd {
	case "permit":
		known = c.table.Permit(c.now, args.session, args.name, args.id, args.token, &c.out)
	case "deny":
		known = c.table.Deny(c.now, args.session, args.name, args.id, holdfast.ErrConflict, &c.out)
	case "end-holds":
		held := func(_ string, _ SessionID, _ uint64, token holdfast.Token) bool { return token != 0 }
		c.table.EndWhere(c.now, holdfast.MemberLost, held, &c.out)
	case "grants":
		c.say("granted: %v", c.table.Grants(args.name, args.token))
	}
	if !known {
		c.say("unknown")
	}
}

// succeed plays what only an authority asks that succeeds another.
func (c *conversation) succeed(t *testing.T, d *datadriven.TestData, args arguments) {
	entry, end := args.entry(t), Never
	if args.values["until"] != "" {
		end = args.duration(t, "until")
	}
	var err error
	switch d.Cmd {
	case "adopt":
		err = c.table.Adopt(c.now, &entry, end)
	case "adopt-revoked":
		err = c.table.AdoptRevoked(c.now, &entry, end, holdfast.Duplicate, &c.out)
	case "displace":
		var below []Grant
		for text := range strings.SplitSeq(args.values["below"], "+") {
			for _, g := range c.table.Show(args.name).Holders {
				if describeToken(g.Token) == text {
					below = append(below, g)
				}
			}
		}
		c.say("fits: %v", c.table.Displace(&entry, below, holdfast.Duplicate, &c.out))
	case "revoke":
		c.say("held: %v", c.table.Revoke(args.session, args.name, args.token, holdfast.Duplicate, &c.out))
	default:
		t.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
	}
	if err != nil {
		c.say("error: %v", err)
	}
}

func (c *conversation) counts(args arguments) {
	if args.session != (SessionID{}) {
		holds, waits := c.table.Session(args.session)
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

func (c *conversation) restore(t *testing.T, args arguments) {
	limit := max(1, args.number(t, "limit"))
	then := c.now
	if args.values["at"] != "" {
		then = args.duration(t, "at")
	}
	copied := newTable(t, c.table.limits)
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		chunk := c.table.Snapshot(c.now, cursor, limit)
		if err := copied.Restore(then, chunk); err != nil {
			t.Fatal(err)
		}
		c.say("%d entries", len(chunk.Entries))
		cursor = chunk.Next
	}
	c.table, c.now = copied, then
}

func (c *conversation) print(l Lock) {
	if len(l.Holders)+len(l.Waiters) == 0 {
		c.say("free")
	} else {
		c.say("%v units=%d capacity=%d token=%s", l.Mode, l.Units, l.Capacity, describeToken(l.Token))
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

func describeGrant(g Grant) string {
	s := fmt.Sprintf("s%d %v%s token=%s since=%v%s", g.Session.Number, g.Mode,
		describeTexts(g.Owner, g.Client, g.Reason, g.Units), describeToken(g.Token), g.Since, describeUntil(g.Until))
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

func describeUntil(until Time) string {
	if until == Never {
		return ""
	}
	return fmt.Sprintf(" until=%v", until)
}

func describeToken(token holdfast.Token) string {
	return fmt.Sprintf("%d.%d", token>>32, uint32(token))
}

func describeDecision(d Decision) string {
	s := fmt.Sprintf("s%d #%d %s %v", d.Session.Number, d.Request, cmp.Or(d.Name, "whole"), d.Kind)
	switch d.Kind {
	case Granted:
		s += fmt.Sprintf(" token=%s since=%v", describeToken(d.Token), d.Since)
		if d.Hold != 0 {
			s += fmt.Sprintf(" hold=%v", d.Hold)
		}
		if d.Mode != holdfast.ModeExclusive {
			s += " " + shape(d.Mode, d.Units, d.Capacity)
		}
	case Queued:
		s += fmt.Sprintf(" position=%d", d.Position)
	case Refused:
		s += ": " + d.Err.Error()
	case Lost, Revoked:
		s += fmt.Sprintf(" token=%s because %s", describeToken(d.Token), string(d.Loss))
	case Released:
		if d.Token != 0 {
			s += " token=" + describeToken(d.Token)
		}
	}
	if d.Waited != 0 {
		s += fmt.Sprintf(" waited=%v", d.Waited)
	}
	return s
}

// arguments are the arguments of one command.
type arguments struct {
	session SessionID
	id      uint64
	name    string
	token   holdfast.Token
	flags   map[string]bool
	values  map[string]string
}

func parseArgs(t *testing.T, d *datadriven.TestData) arguments {
	w := arguments{flags: map[string]bool{}, values: map[string]string{}}
	for _, arg := range d.CmdArgs {
		number, err := strconv.ParseUint(arg.Key[1:], 10, 64)
		switch {
		case len(arg.Vals) == 1:
			w.values[arg.Key] = arg.Vals[0]
		case err == nil && arg.Key[0] == 's':
			w.session = SessionID{Member: 1, Number: number}
		case err == nil && arg.Key[0] == '#':
			w.id = number
		case arg.Key == "shared" || arg.Key == "try" || arg.Key == "revoked" || arg.Key == "permitted":
			w.flags[arg.Key] = true
		case arg.Key == "whole":
			w.name = SpaceLock
		default:
			w.name = arg.Key
		}
	}
	if reign, count, ok := strings.Cut(w.values["token"], "."); ok {
		r, err1 := strconv.ParseUint(reign, 10, 32)
		n, err2 := strconv.ParseUint(count, 10, 32)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatalf("%s: %v", d.Pos, err)
		}
		w.token = Token(r, uint32(n))
	}
	return w
}

func (w arguments) number(t *testing.T, key string) int {
	if w.values[key] == "" {
		return 0
	}
	n, err := strconv.Atoi(w.values[key])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func duration(t *testing.T, text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (w arguments) duration(t *testing.T, key string) time.Duration {
	if w.values[key] == "" {
		return 0
	}
	return duration(t, w.values[key])
}

func (w arguments) config(t *testing.T) Config {
	c := Config{
		WaitersPerName: w.number(t, "waiters"), Names: w.number(t, "names"),
		LocksPerSession: w.number(t, "locks"), History: w.number(t, "history"), Permitted: w.flags["permitted"],
	}
	if w.values["drift"] != "" {
		drift, err := strconv.ParseFloat(w.values["drift"], 64)
		if err != nil {
			t.Fatal(err)
		}
		c.Drift = drift
	}
	return c
}

// entry is a hold that another table has granted.
func (w arguments) entry(t *testing.T) Entry {
	r := w.request(t, 0)
	return Entry{
		Name: r.Name, Session: r.Session, Request: r.ID, Owner: r.Owner, Mode: r.Mode, Units: r.Units, Capacity: r.Capacity,
		Token: w.token, Left: Never, Revoked: w.flags["revoked"],
	}
}

func (w arguments) request(t *testing.T, now Time) Request {
	r := Request{
		Session: w.session, ID: w.id, Name: w.name, Owner: w.values["owner"], Reason: w.values["reason"],
		Client: w.values["client"], Try: w.flags["try"], Arrived: now - w.duration(t, "age"),
		WaitEnd: Never, Hold: w.duration(t, "hold"),
	}
	if w.flags["shared"] {
		r.Mode = holdfast.ModeShared
	}
	if units, capacity, ok := strings.Cut(w.values["slots"], "/"); ok {
		u, err1 := strconv.Atoi(units)
		n, err2 := strconv.Atoi(capacity)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		r.Mode, r.Units, r.Capacity = holdfast.ModeSlots, u, n
	}
	if w.values["wait"] != "" {
		r.WaitEnd = now + w.duration(t, "wait")
	}
	return r
}
