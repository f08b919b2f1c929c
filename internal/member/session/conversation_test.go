package session_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/test/golden"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/central"
	"github.com/holdfast-locks/holdfast/storage"
)

// TestConversations plays each testdata/*.txt against a session machine before a member alone
// with two spaces of protocol central, at ports 1 and 2. "k1" names the sink of a call or
// an answer; sessions are s1, s2, … in the order of their opening.
//
//	start [none|crashed] [horizon=8s]   the member starts (first, and once)
//	start cluster        as one of several, with a scripted membership:
//	view · lease 3s · lapse · horizon 8s · lose NAME · office · vacated   see cluster_test.go
//	disk ok|fail         the write in flight ends; until then it is in flight
//	at 3s                time passes
//	k1 open local|stream|oneshot [ttl=10s] [number=7]    k1 resume s1 [open=1,2] [last=5] [wrong] [number=7] [gen=1]   k1 gone
//	k1 renew s1 [ttl=10s] [arrived=3s] [wrong]    k1 check s1 [wrong] [number=7] [gen=1]   k1 end s1 [wrong]   k1 beat s1   k1 who s1
//	k1 lock s1 #1 NAME [space=2] [try] [wait=1s] [hold=3s]   k1 unlock s1 #1 NAME [token]   k1 cancel s1 #1 NAME   k1 extend s1 #1 NAME hold=3s
//	k1 break NAME   k1 count   k1 leave   k1 drain   k1 hurry
func TestConversations(t *testing.T) {
	golden.Play(t, func(*testing.T) func(*golden.Line) string {
		return (&conversation{tokens: map[string]holdfast.Token{}}).play
	})
}

type conversation struct {
	machine *session.Machine
	now     protocol.Time
	ids     []lock.SessionID
	secret  []session.Secret
	writes  []storage.Save
	tokens  map[string]holdfast.Token
	out     protocol.Effects
	calls   uint64
}

func (c *conversation) start(l *golden.Line) {
	l.Helper()
	if l.Flag("cluster") {
		c.startCluster(l)
		return
	}
	config := membership.Config{Kept: !l.Flag("none"), Serves: true, Wall: (membership.Origin + 1000) * time.Second, Rand: rand.New(rand.NewPCG(1, 2))}
	if l.Flag("crashed") {
		config.Cell = membership.Cell{Cluster: 1, ID: 7, Incarnation: 4, Promised: 2000}
	}
	if horizon := l.Duration("horizon"); horizon != 0 {
		config.Cell.Owed = protocol.ReachOf(horizon)
	}
	lone, err := membership.New(config)
	if err != nil {
		l.Fatal(err)
	}
	self := lone.Cell().ID
	var spaces []protocol.Machine
	for range 2 {
		m, err := central.New(central.Config{Self: self})
		if err != nil {
			l.Fatal(err)
		}
		spaces = append(spaces, m)
	}
	c.machine, err = session.New(session.Config{
		Member: self, Incarnation: lone.Cell().Incarnation, Rand: rand.New(rand.NewPCG(3, 4)), Spaces: 2, Sessions: 3,
	}, protocol.Stack(lone, spaces...))
	if err != nil {
		l.Fatal(err)
	}
	c.step(protocol.Event{Kind: protocol.Start})
}

func (c *conversation) play(l *golden.Line) string {
	l.Helper()
	switch l.Verb {
	case "start":
		c.start(l)
	case "at":
		golden.Advance(l, &c.now, l.Time(), func() (protocol.Time, func()) {
			return c.machine.Wake(), func() { c.step(protocol.Event{Kind: protocol.Tick}) }
		})
	case "view", "lease", "lapse", "horizon", "lose", "office", "vacated":
		c.instruct(l)
	case "disk":
		saved := storage.Saved{}
		if l.Next() == "fail" {
			saved.Err = errors.New("disk full")
		}
		if len(c.writes) == 0 {
			c.out.Note(idle{})
			break
		}
		saved.ID = c.writes[0].ID
		c.writes = c.writes[1:]
		c.step(protocol.Event{Kind: protocol.Receive, From: protocol.Storage, Fact: saved})
	default:
		sink := l.ToNumber(strings.TrimPrefix(l.Verb, "k"))
		c.call(l.Inner(), sink)
	}
	return c.told()
}

// call asks something at a sink.
func (c *conversation) call(l *golden.Line, sink uint64) {
	l.Helper()
	c.calls++
	ev := protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: sink, Op: 1000 + c.calls}}
	switch l.Verb {
	case "open":
		client := l.Next()
		kind := map[string]session.Kind{"local": session.Local, "stream": session.Stream, "oneshot": session.OneShot}[client]
		ev.Fact = &session.Open{Kind: kind, TTL: l.Duration("ttl"), Client: client, Number: l.Number("number")}
	case "gone":
		ev.Fact, ev.Call.Op = &session.Detach{}, 0
	case "leave":
		ev.Fact = &membership.Leave{}
	case "hurry":
		ev.Fact = &session.LeaveNow{}
	case "drain":
		ev.Fact = &session.Drain{}
	case "count":
		ev.Fact = &session.Count{}
	case "break":
		ev.Port, ev.Fact = 1, l.Call(lock.SessionID{}, c.now)
	default:
		_, number := l.Asked()
		c.callOf(l, &ev, c.ids[number-1], c.secret[number-1])
	}
	c.step(ev)
}

// callOf is what a session asks, or is asked about.
func (c *conversation) callOf(l *golden.Line, ev *protocol.Event, id lock.SessionID, secret session.Secret) {
	l.Helper()
	if l.Flag("wrong") {
		secret[0] ^= 1
	}
	switch l.Verb {
	case "resume":
		resume := &session.Resume{ID: id, Secret: secret, TTL: l.Duration("ttl"), Number: l.Number("number"), Generation: l.Number("gen"), Last: l.Number("last")}
		for _, request := range l.List("open") {
			resume.Requests = append(resume.Requests, l.ToNumber(request))
		}
		ev.Fact = resume
	case "renew":
		ev.Fact = &session.Renew{ID: id, Secret: secret, TTL: l.Duration("ttl"), Arrived: l.Duration("arrived")}
	case "check":
		ev.Fact = &session.Check{ID: id, Secret: secret, Number: l.Number("number"), Generation: l.Number("gen")}
	case "beat":
		ev.Fact = &session.Renew{ID: id, Proven: true, TTL: l.Duration("ttl")}
	case "end":
		ev.Fact = &session.End{ID: id, Secret: secret}
	case "who":
		ev.Fact = &session.Who{ID: id}
	default:
		c.aboutLock(l, ev, id)
	}
}

// aboutLock is what a session asks a space. With the word token alone it names the token it was granted.
func (c *conversation) aboutLock(l *golden.Line, ev *protocol.Event, id lock.SessionID) {
	l.Helper()
	ev.Port = protocol.Port(max(1, l.Number("space")))
	switch r := l.Call(id, c.now).(type) {
	case *lock.Request:
		ev.Fact, ev.Call.Op = r, r.ID
	case *protocol.Release:
		r.Token = c.tokens[r.Name]
		if l.Flag("token") {
			r.Request = 0
		}
		ev.Fact = r
	case *protocol.Extend:
		r.Request, r.Token = 0, c.tokens[r.Name]
		ev.Fact = r
	case *protocol.Cancel:
		ev.Fact = r
	default:
		l.Unknown()
	}
}

func (c *conversation) step(ev protocol.Event) { c.machine.Step(c.now, ev, &c.out) }

// told is the output that a line has caused.
func (c *conversation) told() string {
	said := &strings.Builder{}
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
	return said.String()
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
	d := &reply.Decision
	if d.Kind == lock.Granted {
		c.tokens[d.Name] = d.Token
	}
	text := c.name(d.Session) + golden.Decision(d)
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
