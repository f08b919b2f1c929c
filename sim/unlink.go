package sim

import (
	"math"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// When all has settled, in runs with network splits, one link is cut permanently: between a member that decides in the
// space and another one. Either the coordinator is a third member that hears both, and both stay in the view; or the
// coordinator is the other one, and drops the member that decides. The users of the other member must still be served,
// at once and later.

// linkless is a user within a member that does not hear the member that decides.
type linkless struct {
	member      *process
	decider     *process
	coordinator *process
	since       instant
	session     lock.SessionID
	sink        uint64
	request     uint64
	granted     bool
	got         string // the answer that came instead
}

// unlinks are the ways of cutting a link, seen from the user's member.
var unlinks = [...]string{"both", "it-is-not-heard", "it-hears-nothing"}

// unlinked counts runs with a cut link.
var unlinked = mark{"link", "cut for good, and a third member hears both"}

// unlinking are the faults of runs with network splits.
const unlinking Faults = 1<<Partition | 1<<OneWay

// checkUnlinked cuts a link when all has settled, and checks that the users behind it are served. Where votes change,
// the two members at the link may be the only voters.
func (w *world) checkUnlinked() {
	if !w.protocol.Logs || w.settings.faults&unlinking == 0 || w.nemesis.reformed || w.settings.known.Autopilot > 0 || w.judge.violation != nil || w.over() {
		return
	}
	w.within("", "unlink", 0)
	decider, coordinator := w.decider(), w.coordinator()
	if decider == nil || coordinator == nil || decider == coordinator {
		return
	}
	var others []*process
	for _, m := range w.members {
		if m.view == nil || !m.up || m == decider {
			continue
		}
		if _, listed := coordinator.view.Of(m.id); listed {
			others = append(others, m)
		}
	}
	if len(others) < 2 {
		return // no third member hears both
	}
	l := &linkless{member: pick(w, "member", others), decider: decider, since: w.now, coordinator: coordinator}
	way := w.among("way", 0, unlinks[:])
	w.trace("the link between %s and %s is cut for good (%s); %s coordinates", l.member, decider, unlinks[way], coordinator)
	if unlinks[way] != "it-is-not-heard" {
		w.network.cut[decider.place][l.member.place] = math.MaxInt64
	}
	if unlinks[way] != "it-hears-nothing" {
		w.network.cut[l.member.place][decider.place] = math.MaxInt64
	}
	l.open()
	for range 2 {
		l.serve(w)
		w.run(w.now + w.settings.lease)
	}
	w.count.hits[unlinked]++
}

// open opens the session.
func (l *linkless) open() {
	l.sink = l.member.attach(sinkFunc(l.hear))
	l.member.step(protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: l.sink, Op: edge.HelloCall}, Fact: &session.Open{Kind: session.Local}})
}

func (l *linkless) hear(reply *protocol.Reply) {
	if opened, is := reply.Result.(*session.Opened); is {
		l.session = opened.ID
	}
	if reply.Result != nil || edge.CallOf(reply.To.Op) != edge.CallRequest {
		return
	}
	switch d := &reply.Decision; d.Kind {
	case lock.Granted:
		l.granted = true
	case lock.Refused:
		l.got = d.Err.Error()
	}
}

// patience is how long the user waits: a lease, which is three election timeouts, if the coordinator hears both sides.
// Otherwise, or if another member coordinates by now, it lasts until that one has dropped the member that decides and
// others have asked it to hand over.
func (l *linkless) patience(w *world) time.Duration {
	if c := w.coordinator(); c != nil && c == l.coordinator && c != l.member {
		return w.settings.lease + w.slower(8*beatWays)
	}
	return 6*w.settings.lease + w.slower(16*beatWays)
}

// serve makes the user lock a free name, and release it.
func (l *linkless) serve(w *world) {
	m := l.member
	l.granted = false
	l.request++
	acquire := &lock.Request{Session: l.session, ID: l.request, Name: "unlinked", Arrived: m.now(), WaitEnd: protocol.Never}
	m.step(protocol.Event{Kind: protocol.Call, Port: userSpace, Call: protocol.CallID{Sink: l.sink, Op: l.request}, Fact: acquire})
	begun := w.now
	for !l.granted && w.now < begun+l.patience(w) && w.judge.violation == nil {
		w.run(w.now + 50*time.Millisecond)
	}
	if !l.granted && w.judge.violation == nil {
		w.judge.violate(liveness, "a user within %s was not granted a free name within %v, %v after the link to %s, which decided, was cut; others hear both %s",
			m, l.patience(w), w.now-l.since, l.decider, l.got)
		return
	}
	m.step(protocol.Event{Kind: protocol.Call, Port: userSpace, Call: protocol.CallID{Sink: l.sink, Op: edge.NumberOf(edge.CallRelease, l.request)}, Fact: &protocol.Release{Session: l.session, Request: l.request, Name: "unlinked"}})
}
