package consensus

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/test/golden"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestConversations plays each testdata/*.txt, in the format of package golden: members of a cluster, their calls, and
// their answers and reports until they have been quiet for half a second. Messages take a millisecond each, and so does
// a sync. In addition to the requests that package golden lists:
//
//	members a b c [shards=S] [every=E] [autopilot=2s]   a new cluster; notes name leaders, and silent members
//	crash a   start a                its folder is as at the crash; half of the requests to it are done
//	cut a     heal                   a hears no member, and no member hears it
//	cut a b   cut a b oneway         a and b do not hear each other; or b does not hear a
//	fail a                           a's journal fails from now on
//	view of=a,b                      the members' view
//	guest                            one more member, not a founder, in the view from then on
//	pass 2s                          time passes, longer than the half second that follows every line
//	enroll a7 [own] [ttl=3s] [client=70.1]   session 7 is a's client's, which has number 70 and generation 1
//	beat a7 [client=71.2]   end a7 [idle] [client=71.2]   dismiss a7   revoke a7   holds a7
//	adopt b7 [1,2] [last=5]          session 7 continues at b
//	use a7 100 X                     locks and unlocks X so often, and prints the number of grants
//	transfer a b                     an operator asks a to make b the leader
//	shards a                         an operator asks a for the voters
//	add a d   promote a d   remove a d   an operator asks a to make d a learner, a voter, or neither
func TestConversations(t *testing.T) {
	golden.Play(t, begin)
}

func begin(t *testing.T) func(*golden.Line) string {
	s := &stage{t: t}
	return func(l *golden.Line) string {
		s.out = ""
		s.play(l)
		return s.out
	}
}

// quiet is how long a conversation waits after each line.
const quiet = 500 * time.Millisecond

type stage struct {
	*world
	t      *testing.T
	out    string
	views  uint64
	used   int
	hushed bool
}

func (s *stage) say(text string) {
	if !s.hushed {
		s.out += text + "\n"
	}
}

func (s *stage) found(l *golden.Line) {
	l.Helper()
	shards, every, pilot := l.Number("shards"), l.Number("every"), l.Duration("autopilot")
	s.world = newWorld(s.t, len(l.Words()), 1)
	s.every, s.pilot = every, pilot
	if shards > 0 {
		s.shards = int(shards)
	}
	s.onReply = func(m *member, reply *protocol.Reply) {
		if reply.Result == nil && reply.Decision.Kind == lock.Granted && s.hushed {
			s.used++
		}
		s.say(formatReply(m, reply))
	}
	s.noted = func(m *member, note protocol.Note) {
		if led, is := note.(Led); is && led.By == m.id {
			s.say(fmt.Sprintf("%s: leads shard %d", m.name(), led.Shard))
		}
		switch note.(type) {
		case Failed, Retired, VoteKept, Relieved:
			s.say(m.name() + ": " + note.String())
		}
	}
	for _, m := range s.members {
		s.begin(m)
	}
	s.view(s.members...)
}

// view is a new view of members.
func (s *stage) view(members ...*member) {
	s.views++
	s.show(s.views, members...)
}

func (s *stage) member(name string) *member { return s.members[name[0]-'a'] }

func (s *stage) play(l *golden.Line) {
	l.Helper()
	wait := quiet
	switch l.Verb {
	case "members":
		s.found(l)
	case "guest":
		m := &member{id: protocol.ID(len(s.members) + 1), disk: disk{logs: map[uint64]*log{}}, guest: true}
		s.members = append(s.members, m)
		s.begin(m)
		s.view(s.up()...)
	case "heal":
		clear(s.cut)
	case "pass":
		wait += l.Time()
	case "view":
		var of []*member
		for _, name := range l.List("of") {
			of = append(of, s.member(name))
		}
		s.view(of...)
	case "crash":
		m := s.member(l.Next())
		s.crash(m, len(m.journalRequests)/2)
	case "start":
		s.begin(s.member(l.Next()))
		s.view(s.up()...)
	case "cut":
		s.sever(l)
	case "fail":
		s.member(l.Next()).refuses = errors.New("no space left on device")
	default:
		name, client := l.Asked()
		m, id := s.member(name), lock.SessionID{Member: 9, Number: client}
		if l.Verb == "use" {
			s.use(l, m, id)
			break
		}
		fact := s.ofSession(l, id)
		if fact == nil {
			fact = s.ofOperator(l)
		}
		if fact == nil {
			fact = l.Call(id, s.now-m.start)
		}
		if fact == nil {
			l.Unknown()
		}
		s.call(m, 1, fact)
	}
	s.pass(wait)
}

// sever cuts links: both between two members, one of them, or all of one member.
func (s *stage) sever(l *golden.Line) {
	l.Helper()
	oneway, a := l.Flag("oneway"), s.member(l.Next()).id
	others := s.members
	if l.More() {
		others = []*member{s.member(l.Next())}
	}
	for _, other := range others {
		s.cut[[2]protocol.ID{a, other.id}] = true
		s.cut[[2]protocol.ID{other.id, a}] = !oneway
	}
}

// up lists the running members.
func (s *stage) up() []*member {
	return slices.DeleteFunc(slices.Clone(s.members), func(m *member) bool { return m.machine == nil })
}

func (s *stage) use(l *golden.Line, m *member, id lock.SessionID) {
	l.Helper()
	times, name := l.Count(), l.Name()
	s.hushed, s.used = true, 0
	for i := range times {
		request := 1000 + i
		s.call(m, 1, &lock.Request{Session: id, ID: request, Name: name, WaitEnd: lock.Never, Arrived: s.now - m.start})
		s.pass(20 * time.Millisecond)
		s.call(m, 1, &protocol.Release{Session: id, Request: request, Name: name})
		s.pass(20 * time.Millisecond)
	}
	s.hushed = false
	s.say(fmt.Sprintf("%s: %d granted", m.name(), s.used))
}

// ofSession makes members' requests about sessions.
func (s *stage) ofSession(l *golden.Line, id lock.SessionID) any {
	l.Helper()
	switch l.Verb {
	case "enroll":
		return &protocol.Enroll{
			Session: id, TTL: l.DurationOr("ttl", time.Hour), Proof: [32]byte{byte(id.Number)}, Own: l.Flag("own"), Attached: clientOf(l), Tied: l.Flag("tied"),
		}
	case "beat":
		return &protocol.Beat{Session: id, Attached: clientOf(l), Tied: l.Flag("tied")}
	case "end":
		return &protocol.EndSession{Session: id, Idle: l.Flag("idle"), Attached: clientOf(l).Attachment}
	case "dismiss":
		return &protocol.Dismiss{Session: id}
	case "revoke":
		return &protocol.Revoke{Session: id, Why: holdfast.MemberLost}
	case "holds":
		return &protocol.CountHolds{Session: id}
	case "adopt":
		adopt := &protocol.Adopt{Session: id, Last: l.Number("last")}
		if l.More() {
			for number := range strings.SplitSeq(l.Next(), ",") {
				adopt.Requests = append(adopt.Requests, l.ToNumber(number))
			}
		}
		return adopt
	}
	return nil
}

// clientOf returns the client named in the options.
func clientOf(l *golden.Line) (a lock.Attachments) {
	l.Helper()
	if client := l.Value("client"); client != "" {
		if _, err := fmt.Sscanf(client, "%d.%d", &a.Client, &a.Generation); err != nil {
			l.Wrong("%v", err)
		}
	}
	return a
}

// ofOperator makes an operator's requests about leaders and voters.
func (s *stage) ofOperator(l *golden.Line) any {
	l.Helper()
	switch l.Verb {
	case "transfer":
		return &protocol.Transfer{To: s.member(l.Next()).id}
	case "add", "promote", "remove":
		return &protocol.Reform{Member: s.member(l.Next()).id, As: map[string]protocol.Role{"add": protocol.Learner, "promote": protocol.Voter}[l.Verb]}
	case "shards":
		return &protocol.ListShards{}
	}
	return nil
}
