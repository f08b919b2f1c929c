package session_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// The ports of a session machine whose spaces are of both sorts.
const (
	shelfPort  protocol.Port = 1 // ends with its member
	vaultPort  protocol.Port = 2 // outlasts it
	secondPort protocol.Port = 3 // so does this one
)

// vault is a lasting space that does as a test says: a table, and who is enrolled. It answers beats and adoptions at
// once, unless it is mute: then they wait.
type vault struct {
	shelf

	confirms  bool // it tells the membership that no authority need know of anything
	mute      bool
	waiting   []protocol.Event
	err       error // the answer to beats and adoptions, where they fail
	expired   error // the answer to beats alone, if it is set
	enrolled  map[lock.SessionID]protocol.Enroll
	queries   []string // what the session machine has said
	decisions []lock.Decision
	stepped   map[uint64]protocol.Time // when a beat was asked for, by its number
	kept      protocol.Time            // the latest enrolment, or beat that was answered
	heard     func(*protocol.Beat)     // is called with each beat, if it is set
	later     lock.Attachments         // has taken over all sessions whose clients are others, if it is set
	ended     *protocol.EndSession     // the latest
}

func (v *vault) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch fact := ev.Fact.(type) {
	case func(*vault, *protocol.Effects):
		fact(v, out)
	case *protocol.Enroll:
		v.queries = append(v.queries, "enroll")
		v.enrolled[fact.Session] = *fact
		v.kept = now
	case *protocol.Dismiss:
		v.queries = append(v.queries, "dismiss")
	case *protocol.Revoke:
		v.queries = append(v.queries, "revoke")
		v.shelf.Step(now, ev, out)
	case *protocol.EndSession:
		v.queries = append(v.queries, "end"+string(fact.Why))
		ended := *fact
		v.ended = &ended
		delete(v.enrolled, fact.Session)
		v.shelf.Step(now, ev, out)
	case *protocol.Cancel:
		v.table.Cancel(now, fact.Session, fact.Name, fact.Request, &v.out)
		v.shelf.Step(now, protocol.Event{}, out)
	case *protocol.Recall:
		from := len(v.out)
		if !v.table.Recall(fact.Session, fact.Name, fact.Token, fact.Request, holdfast.EndedByAnother, &v.out) {
			v.table.Cancel(now, fact.Session, fact.Name, fact.Request, &v.out)
		}
		for i := range v.out[from:] {
			if d := &v.out[from+i]; d.Kind == lock.Released {
				d.Kind, d.Err = lock.Refused, holdfast.EndedByAnother
			}
		}
		v.shelf.Step(now, protocol.Event{}, out)
	case *protocol.View:
		if v.confirms {
			out.Raise(&protocol.Confirmed{Epoch: fact.Epoch.Counter})
		}
	case *protocol.Lapsed: // what it has lasts
	case *protocol.Beat, *protocol.Adopt:
		v.take(now, ev, out)
	default:
		v.shelf.Step(now, ev, out)
	}
}

// take answers a beat or an adoption, now or when the test says so.
func (v *vault) take(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch fact := ev.Fact.(type) {
	case *protocol.Beat:
		v.queries = append(v.queries, "beat")
		v.stepped[ev.Call.Op] = now
		if v.heard != nil {
			v.heard(fact)
		}
	case *protocol.Adopt:
		v.queries = append(v.queries, fmt.Sprintf("adopt%v", fact.Requests))
	}
	if v.mute {
		v.waiting = append(v.waiting, ev)
		return
	}
	v.answer(&ev, out)
}

func (v *vault) answer(ev *protocol.Event, out *protocol.Effects) {
	switch fact := ev.Fact.(type) {
	case *protocol.Beat:
		v.kept = max(v.kept, v.stepped[ev.Call.Op])
		if who, has := v.enrolled[fact.Session]; has && fact.Tied && !who.Tied && cmp.Or(v.expired, v.err) == nil {
			who.Tied = true
			v.enrolled[fact.Session] = who
		}
		if fact.Attached.Client != 0 && fact.Attached.Before(v.later.Attachment) {
			out.Reply(ev.Call, &protocol.Beaten{Err: holdfast.EndedByAnother, Attached: v.later})
			return
		}
		out.Reply(ev.Call, &protocol.Beaten{Err: cmp.Or(v.expired, v.err)})
	case *protocol.Adopt:
		adopted := &protocol.Adopted{Err: v.err}
		if who, has := v.enrolled[fact.Session]; has {
			adopted.Enrolled = who
		} else if v.err == nil {
			adopted.Err = holdfast.SessionExpired
		}
		out.Reply(ev.Call, adopted)
		for i := range v.decisions {
			out.Decide(protocol.CallID{}, &v.decisions[i])
		}
	}
}

// said returns what the session machine has said since it was asked for last.
func (v *vault) said() string {
	said := strings.Join(v.queries, " ")
	v.queries = nil
	return said
}

// machine is a session machine with a shelf and two vaults, below it a membership with a long lease.
type machine struct {
	*session.Machine
	t             testing.TB
	now           protocol.Time
	below         *scripted
	shelf         *shelf
	vault, second *vault
	replies       []protocol.Reply
	notes         []string
	calls         uint64
}

func newShelf(t testing.TB) shelf {
	table, err := lock.New(lock.Config{})
	if err != nil {
		t.Fatal(err)
	}
	table.BeginReign(1, 0)
	return shelf{table: table}
}

func newVault(t testing.TB) *vault {
	return &vault{shelf: newShelf(t), enrolled: map[lock.SessionID]protocol.Enroll{}, stepped: map[uint64]protocol.Time{}}
}

func newLasting(t testing.TB, member protocol.ID) *machine { return newLastingOf(t, member, 0) }

func newLastingOf(t testing.TB, member protocol.ID, sessions int) *machine {
	t.Helper()
	return newLastingWith(t, member, session.Config{Sessions: sessions})
}

func newLastingWith(t testing.TB, member protocol.ID, c session.Config) *machine {
	t.Helper()
	front := newShelf(t)
	d := &machine{
		t: t, shelf: &front, now: time.Second,
		vault:  newVault(t),
		second: newVault(t),
	}
	c.Member, c.Lasting = member, []protocol.Port{vaultPort, secondPort}
	d.begin(c, d.shelf, d.vault, d.second)
	return d
}

// onlyPort is that of the vault of a session machine that has nothing else.
const onlyPort protocol.Port = 1

// newAllLasting is a session machine whose only space outlasts it.
func newAllLasting(t *testing.T, member protocol.ID) *machine {
	t.Helper()
	d := &machine{
		t: t, now: time.Second,
		vault: newVault(t),
	}
	d.begin(session.Config{Member: member, Lasting: []protocol.Port{onlyPort}}, d.vault)
	return d
}

// begin makes the session machine in front of its spaces, and starts it.
func (d *machine) begin(c session.Config, spaces ...protocol.Machine) {
	d.t.Helper()
	c.Incarnation, c.Rand, c.Spaces = 1, rand.New(rand.NewPCG(uint64(c.Member), 4)), len(spaces)
	c.TTL = 2 * time.Second
	d.below = &scripted{}
	var err error
	if d.Machine, err = session.New(c, protocol.Stack(d.below, spaces...)); err != nil {
		d.t.Fatal(err)
	}
	d.step(protocol.Event{Kind: protocol.Start})
	d.order(order{verb: "view"})
	d.order(order{verb: "lease", span: 24 * time.Hour})
	d.order(order{verb: "horizon"})
}

// order tells the membership what to do.
func (d *machine) order(o order) { d.step(protocol.Event{Kind: protocol.Receive, From: 9, Fact: o}) }

func (d *machine) step(ev protocol.Event) {
	var out protocol.Effects
	d.Step(d.now, ev, &out)
	for _, reply := range out.Replies {
		if reply.To.Sink == 0 && reply.To.Op != 0 {
			d.t.Fatalf("an answer to the session machine itself comes out: %+v", reply)
		}
		d.replies = append(d.replies, reply)
	}
	for _, note := range out.Notes {
		d.notes = append(d.notes, note.String())
	}
}

// at lets time pass.
func (d *machine) at(to protocol.Time) {
	d.t.Helper()
	for wake := d.Wake(); wake <= to; wake = d.Wake() {
		d.now = max(d.now, wake)
		d.step(protocol.Event{Kind: protocol.Tick})
		if d.Wake() == wake && wake < d.now {
			d.t.Fatalf("the session machine still wants to be woken at %v", wake)
		}
	}
	d.now = to
}

// call asks something at a sink.
func (d *machine) call(sink uint64, port protocol.Port, fact any) protocol.CallID {
	d.calls++
	call := protocol.CallID{Sink: sink, Op: 1000 + d.calls}
	if r, is := fact.(*lock.Request); is {
		call.Op = r.ID
	}
	d.step(protocol.Event{Kind: protocol.Call, Port: port, Call: call, Fact: fact})
	return call
}

// in has a vault do something.
func (d *machine) in(port protocol.Port, do func(*vault, *protocol.Effects)) {
	d.step(protocol.Event{Kind: protocol.Receive, From: 9, Port: port, Fact: do})
}

// release has a mute vault answer what waits, the first n of it.
func (d *machine) release(port protocol.Port, n int) {
	d.in(port, func(v *vault, out *protocol.Effects) {
		for i := range v.waiting[:n] {
			v.answer(&v.waiting[i], out)
		}
		v.waiting = v.waiting[n:]
	})
}

// answered returns the latest answer to a call, or nil, and forgets it.
func answered[T any](d *machine, call protocol.CallID) (result T) {
	for i := len(d.replies) - 1; i >= 0; i-- {
		if answer, is := d.replies[i].Result.(T); is && d.replies[i].To == call {
			d.replies = slices.Delete(d.replies, i, i+1)
			return answer
		}
	}
	return result
}

// decided returns the kinds of the decisions sent to a sink about a request, and forgets nothing.
func (d *machine) decided(sink, request uint64) (kinds []lock.Kind) {
	for _, reply := range d.replies {
		if reply.To.Sink == sink && reply.Decision.Kind != 0 && reply.Decision.Request == request {
			kinds = append(kinds, reply.Decision.Kind)
		}
	}
	return kinds
}

// expired returns the Expired that a sink got at the end of its session, or nil.
func (d *machine) expired(sink uint64) *session.Expired {
	return answered[*session.Expired](d, protocol.CallID{Sink: sink})
}

// dismissed returns the Dismissed that a sink got when its session went on elsewhere, or nil.
func (d *machine) dismissed(sink uint64) *session.Dismissed {
	return answered[*session.Dismissed](d, protocol.CallID{Sink: sink})
}

func (d *machine) open(sink uint64, kind session.Kind, ttl time.Duration) *session.Opened {
	d.t.Helper()
	opened := answered[*session.Opened](d, d.call(sink, protocol.Below, &session.Open{Kind: kind, TTL: ttl, Client: "c", Identity: "i"}))
	if opened == nil || opened.Err != nil {
		d.t.Fatalf("opening is answered by %+v", opened)
	}
	return opened
}

func (d *machine) lock(sink uint64, port protocol.Port, id lock.SessionID, request uint64, name string) protocol.CallID {
	return d.call(sink, port, &lock.Request{Session: id, ID: request, Name: name, WaitEnd: lock.Never, Arrived: d.now})
}

func (d *machine) renew(opened *session.Opened, ttl time.Duration) protocol.CallID {
	return d.call(9, protocol.Below, &session.Renew{ID: opened.ID, Secret: opened.Secret, Identity: "i", TTL: ttl})
}

// held reports whether a name is held in a shelf.
func (m *shelf) held(id lock.SessionID) int {
	holds, _ := m.table.Session(id)
	return holds
}
