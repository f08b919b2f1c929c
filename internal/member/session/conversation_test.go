package session_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/central"
	"github.com/holdfast-locks/holdfast/storage"
)

// TestConversations plays each testdata/*.txt against a session machine before a member alone
// with two spaces of protocol central, at ports 1 and 2. "k1" says at which sink
// something is asked or told; sessions are s1, s2, … in the order of their opening.
//
//	start [fresh|none|crashed] [horizon=8s]   the member starts (first, and once)
//	start cluster        as one of several, with a membership that does as it is told:
//	view · lease 3s · lapse · horizon 8s · lose NAME · office · vacated   see cluster_test.go
//	disk ok|fail         the write in flight ends; until then it is in flight
//	at 3s                time passes
//	k1 open local|stream|oneshot [ttl=10s] [number=7]    k1 resume s1 [open=1,2] [last=5] [wrong] [number=7] [gen=1]   k1 gone
//	k1 renew s1 [ttl=10s] [arrived=3s] [wrong]    k1 check s1 [wrong] [number=7] [gen=1]   k1 end s1 [wrong]   k1 beat s1   k1 who s1
//	k1 lock s1 #1 NAME [space=2] [try] [wait=1s] [hold=3s]   k1 unlock s1 #1 NAME [token]   k1 cancel s1 #1 NAME   k1 extend s1 #1 NAME hold=3s
//	k1 break NAME   k1 count   k1 leave   k1 drain   k1 hurry
func TestConversations(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		c := &conversation{tokens: map[string]lock.Decision{}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var said strings.Builder
			for line := range strings.Lines(d.Input) {
				if line = strings.TrimSpace(line); line != "" {
					c.say(t, line)
					c.write(&said)
				}
			}
			return said.String()
		})
	})
}

type conversation struct {
	machine *session.Machine
	now     protocol.Time
	ids     []lock.SessionID
	secret  []session.Secret
	writes  []storage.Save
	tokens  map[string]lock.Decision
	out     protocol.Effects
	calls   uint64
}

func (c *conversation) start(t *testing.T, args []string) {
	t.Helper()
	if len(args) > 0 && args[0] == "cluster" {
		c.startCluster(t, args[1:])
		return
	}
	config := membership.Config{Kept: true, Serves: true, Wall: (membership.Origin + 1000) * time.Second, Rand: rand.New(rand.NewPCG(1, 2))}
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "none":
			config.Kept = false
		case "crashed":
			config.Cell = membership.Cell{Cluster: 1, ID: 7, Incarnation: 4, Promised: 2000}
		case "horizon":
			config.Cell.Owed = protocol.ReachOf(duration(t, value))
		}
	}
	lone, err := membership.New(config)
	if err != nil {
		t.Fatal(err)
	}
	self := lone.Cell().ID
	var spaces []protocol.Machine
	for range 2 {
		m, err := central.New(central.Config{Self: self})
		if err != nil {
			t.Fatal(err)
		}
		spaces = append(spaces, m)
	}
	c.machine, err = session.New(session.Config{
		Member: self, Incarnation: lone.Cell().Incarnation, Rand: rand.New(rand.NewPCG(3, 4)), Spaces: 2, Sessions: 3,
	}, protocol.Stack(lone, spaces...))
	if err != nil {
		t.Fatal(err)
	}
	c.step(protocol.Event{Kind: protocol.Start})
}

func (c *conversation) say(t *testing.T, line string) {
	t.Helper()
	fields := strings.Fields(line)
	switch fields[0] {
	case "start":
		c.start(t, fields[1:])
	case "at":
		to := duration(t, fields[1])
		for wake := c.machine.Wake(); wake <= to; wake = c.machine.Wake() {
			c.now = max(c.now, wake)
			c.step(protocol.Event{Kind: protocol.Tick})
			if c.machine.Wake() == wake {
				t.Fatalf("%s: the session machine still wants to be woken at %v, which it was", line, wake)
			}
		}
		c.now = to
	case "view", "lease", "lapse", "horizon", "lose", "office", "vacated":
		c.instruct(t, fields)
	case "disk":
		if len(c.writes) == 0 {
			c.out.Note(idle{})
			return
		}
		saved := storage.Saved{ID: c.writes[0].ID}
		if fields[1] == "fail" {
			saved.Err = errors.New("disk full")
		}
		c.writes = c.writes[1:]
		c.step(protocol.Event{Kind: protocol.Receive, From: protocol.Storage, Fact: saved})
	default:
		c.call(t, number(t, strings.TrimPrefix(fields[0], "k")), fields[1], fields[2:])
	}
}

// call asks something at a sink.
func (c *conversation) call(t *testing.T, sink uint64, verb string, args []string) {
	t.Helper()
	c.calls++
	ev := protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: sink, Op: 1000 + c.calls}}
	var id lock.SessionID
	var secret session.Secret
	options := map[string]string{}
	var plain []string
	for _, arg := range args {
		key, value, given := strings.Cut(arg, "=")
		switch {
		case given:
			options[key] = value
		case len(arg) > 1 && arg[0] == 's' && arg[1] >= '0' && arg[1] <= '9':
			i := number(t, arg[1:]) - 1
			id, secret = c.ids[i], c.secret[i]
		case arg == "wrong":
			secret[0] ^= 1
		default:
			plain = append(plain, arg)
		}
	}
	ttl := time.Duration(0)
	if v, ok := options["ttl"]; ok {
		ttl = duration(t, v)
	}
	switch verb {
	case "open":
		kind := map[string]session.Kind{"local": session.Local, "stream": session.Stream, "oneshot": session.OneShot}[plain[0]]
		ev.Fact = &session.Open{Kind: kind, TTL: ttl, Client: plain[0], Number: optional(t, options["number"])}
	case "resume":
		resume := &session.Resume{ID: id, Secret: secret, TTL: ttl, Number: optional(t, options["number"]), Generation: optional(t, options["gen"])}
		if v, ok := options["last"]; ok {
			resume.Last = number(t, v)
		}
		for request := range strings.FieldsFuncSeq(options["open"], func(r rune) bool { return r == ',' }) {
			resume.Requests = append(resume.Requests, number(t, request))
		}
		ev.Fact = resume
	case "gone":
		ev.Fact, ev.Call.Op = &session.Detach{}, 0
	case "renew":
		r := &session.Renew{ID: id, Secret: secret, TTL: ttl}
		if v, ok := options["arrived"]; ok {
			r.Arrived = duration(t, v)
		}
		ev.Fact = r
	case "check":
		ev.Fact = &session.Check{ID: id, Secret: secret, Number: optional(t, options["number"]), Generation: optional(t, options["gen"])}
	case "beat":
		ev.Fact = &session.Renew{ID: id, Proven: true, TTL: ttl}
	case "end":
		ev.Fact = &session.End{ID: id, Secret: secret}
	case "who":
		ev.Fact = &session.Who{ID: id}
	case "leave":
		ev.Fact = &membership.Leave{}
	case "hurry":
		ev.Fact = &session.LeaveNow{}
	case "drain":
		ev.Fact = &session.Drain{}
	case "count":
		ev.Fact = &session.Count{}
	default:
		c.aboutLock(t, &ev, verb, id, plain, options)
	}
	c.step(ev)
}

func (c *conversation) aboutLock(t *testing.T, ev *protocol.Event, verb string, id lock.SessionID, plain []string, options map[string]string) {
	t.Helper()
	ev.Port = 1
	if options["space"] == "2" {
		ev.Port = 2
	}
	if verb == "break" {
		ev.Fact = &protocol.Break{Name: plain[0], Reason: "test"}
		return
	}
	request, name := number(t, strings.TrimPrefix(plain[0], "#")), plain[1]
	option := strings.Join(plain[2:], " ")
	switch verb {
	case "lock":
		r := &lock.Request{Session: id, ID: request, Name: name, Arrived: c.now, WaitEnd: lock.Never, Try: option == "try"}
		if v, ok := options["wait"]; ok {
			r.WaitEnd = c.now + duration(t, v)
		}
		if v, ok := options["hold"]; ok {
			r.Hold = duration(t, v)
		}
		ev.Fact = r
		ev.Call.Op = request
	case "unlock":
		r := &protocol.Release{Session: id, Name: name, Request: request, Token: c.tokens[name].Token}
		if option == "token" {
			r.Request = 0
		}
		ev.Fact = r
	case "extend":
		ev.Fact = &protocol.Extend{Session: id, Name: name, Token: c.tokens[name].Token, Hold: duration(t, options["hold"])}
	case "cancel":
		ev.Fact = &protocol.Cancel{Session: id, Name: name, Request: request}
	default:
		t.Fatalf("unknown word %q", verb)
	}
}

func (c *conversation) step(ev protocol.Event) { c.machine.Step(c.now, ev, &c.out) }

func (c *conversation) write(said *strings.Builder) {
	for _, send := range c.out.Sends {
		save := send.Message.(storage.Save)
		c.writes = append(c.writes, save)
		cell, err := membership.DecodeCell(save.Data)
		fmt.Fprintf(said, "save owed=%v clean=%v epoch=%d incarnation=%d %v %s\n", cell.Owed.Span(), cell.Clean, cell.Promised, cell.Incarnation, cell.Pledges, orNone(err))
	}
	for _, note := range c.out.Notes {
		fmt.Fprintf(said, "note %v\n", note)
	}
	for _, fact := range c.out.Raises {
		switch fact := fact.(type) {
		case *protocol.View:
			fmt.Fprintf(said, "view %d epoch=%d from=%v\n", fact.Number, fact.Epoch.Counter, fact.GrantFrom)
		case *protocol.Horizon:
			text := "horizon"
			if !fact.Answer {
				text = "at once horizon"
			}
			fmt.Fprintf(said, "%s %v clients=%v\n", text, fact.Confirmed, fact.Clients)
		case *protocol.Lapsed:
			fmt.Fprintf(said, "lapsed\n")
		case *membership.Unfit:
			fmt.Fprintf(said, "unfit: %v\n", fact.Err)
		}
	}
	for _, reply := range c.out.Replies {
		fmt.Fprintf(said, "k%d: %s\n", reply.To.Sink, c.render(reply))
	}
	c.out.Reset()
}

// idle notes that no write was in flight.
type idle struct{}

func (idle) String() string { return "the disk is idle" }

func orNone(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (c *conversation) name(id lock.SessionID) string {
	for i := range c.ids {
		if c.ids[i] == id {
			return "s" + strconv.Itoa(i+1)
		}
	}
	return "s?"
}

func (c *conversation) render(reply protocol.Reply) string {
	switch r := reply.Result.(type) {
	case *session.Opened:
		if r.Err != nil {
			return "refused: " + r.Err.Error()
		}
		c.ids, c.secret = append(c.ids, r.ID), append(c.secret, r.Secret)
		return fmt.Sprintf("opened s%d ttl=%v", len(c.ids), r.TTL) + generation(r.Generation)
	case *session.Renewed:
		text := fmt.Sprintf("renewed ttl=%v", r.TTL) + generation(r.Generation)
		if r.Takes {
			text += " takes it over"
		}
		if r.Err != nil {
			text = "refused: " + r.Err.Error()
		}
		for _, lost := range r.Lost {
			text += fmt.Sprintf("; lost %s (%s)", lost.Decision.Name, lost.Decision.Loss)
		}
		return text
	case *session.Ended:
		text := "ended " + orNone(r.Err)
		for _, lost := range r.Released {
			text += fmt.Sprintf(" %s@%d", lost.Decision.Name, lost.Port)
		}
		return text
	case *session.Expired:
		if r.Err != nil {
			return "expired " + c.name(r.ID) + " (" + r.Err.Error() + ")"
		}
		return "expired " + c.name(r.ID)
	case *session.Dismissed:
		return "dismissed " + c.name(r.ID) + " (" + r.Err.Error() + ")"
	case *session.Drained:
		return "drained"
	case *session.Superseded:
		return "superseded " + c.name(r.ID)
	case *session.TakenOver:
		return "taken over " + c.name(r.ID)
	case *session.Known:
		return fmt.Sprintf("known %q until=%s", r.Client, protocol.FormatTime(r.Until))
	case *session.Counted:
		return fmt.Sprintf("%d sessions", r.Sessions)
	case *membership.Left:
		return "left " + orNone(r.Err)
	case *protocol.Broken:
		return fmt.Sprintf("broken %d %s", len(r.Grants), orNone(r.Err))
	}
	d := reply.Decision
	if d.Kind == lock.Granted {
		c.tokens[d.Name] = d
	}
	text := fmt.Sprintf("%s #%d %v %s", c.name(d.Session), d.Request, d.Kind, d.Name)
	if d.Loss != "" {
		text += " why=" + string(d.Loss)
	}
	if d.Err != nil {
		text += " (" + d.Err.Error() + ")"
	}
	if reply.To.Op > 0 && reply.To.Op < 1000 {
		text += " op=" + strconv.FormatUint(reply.To.Op, 10)
	}
	return text
}

func generation(n uint64) string {
	if n == 0 {
		return ""
	}
	return " gen=" + strconv.FormatUint(n, 10)
}

// optional is a number that may be left out, which is 0 then.
func optional(t *testing.T, token string) uint64 {
	t.Helper()
	if token == "" {
		return 0
	}
	return number(t, token)
}

func duration(t *testing.T, token string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(token)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func number(t *testing.T, token string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(token, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
