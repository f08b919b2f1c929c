package consensus

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

var rewrite = flag.Bool("rewrite", false, "write what the conversations say now")

// TestConversations plays each testdata/*.txt: members of a cluster, what they are asked, and below each line what they
// answered and tell until it has been quiet for a while. Messages take a millisecond each, and so does a sync.
//
//	members N [shards=S] [every=E] [autopilot=2s]   a new cluster; who leads is told, and who is silent
//	crash a   start a                its folder is as it was when it crashed; half of what was asked of it is done
//	cut a     heal                   a hears no member, and no member hears it
//	cut a b   cut a b oneway         a and b do not hear each other; or b does not hear a
//	fail a                           a's journal fails from now on
//	view a,b                         the members' view
//	enroll a 7 [own] [ttl=3s] [client=70.1]   session 7 is a's client's, which has number 70 and generation 1
//	lock a 7 #1 X [try] [wait=1s] [hold=1s] [owner=O]   unlock a 7 #1 X   cancel a 7 #1 X   extend a 7 #1 X 5s
//	beat a 7 [client=71.2]   end a 7 [client=71.2]   dismiss a 7   adopt b 7 [1,2] [last=5]   revoke a 7   list a 7   holds a 7
//	use a 7 100 X                    locks and unlocks X so often, and says how often it was granted
//	lock a 7 #1 *                    the space is suspended: its own name is written *, here and below
//	show a X [stale]   scan a [stale]   break a X   inspect a   transfer a b   stepdown a   close a   open a
//	guest                            one more member, who is no founder, and is in the view from then on
//	shards a                         a is asked who votes
//	add a d   promote a d   remove a d   a is asked to make d a learner, a voter, or none of them
//	pass 2s                          time passes, longer than the half second that follows every line
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(text))
			if got == string(text) {
				return
			}
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Errorf("%s: what is said now differs; -rewrite writes it down:\n%s", file, got)
		})
	}
}

type stage struct {
	*world
	out    strings.Builder
	views  uint64
	used   int
	hushed bool
}

func play(t *testing.T, text string) string {
	s := &stage{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "  ") {
			continue // what was said then
		}
		fmt.Fprintln(&s.out, line)
		if line == "" || line[0] == '#' {
			continue
		}
		s.do(t, strings.Fields(line))
	}
	return s.out.String()
}

func (s *stage) say(m *member, text string) {
	if !s.hushed {
		fmt.Fprintf(&s.out, "  %s %s\n", m.name(), strings.TrimSpace(text))
	}
}

func (s *stage) found(t *testing.T, fields []string) {
	count, _ := strconv.Atoi(fields[1])
	s.world = newWorld(t, count, 1)
	for _, field := range fields[2:] {
		if n, is := strings.CutPrefix(field, "shards="); is {
			s.shards, _ = strconv.Atoi(n)
		} else if n, is := strings.CutPrefix(field, "every="); is {
			s.every, _ = strconv.ParseUint(n, 10, 64)
		} else if d, is := strings.CutPrefix(field, "autopilot="); is {
			s.pilot, _ = time.ParseDuration(d)
		} else {
			t.Fatalf("members %s", field)
		}
	}
	s.onReply = func(m *member, reply *protocol.Reply) {
		if reply.Result == nil && reply.Decision.Kind == lock.Granted && s.hushed {
			s.used++
		}
		s.say(m, formatReply(reply))
	}
	s.noted = func(m *member, note protocol.Note) {
		if led, is := note.(Led); is && led.By == m.id {
			s.say(m, fmt.Sprintf("leads shard %d", led.Shard))
		}
		switch note.(type) {
		case Failed, Retired, VoteKept, Relieved:
			s.say(m, note.String())
		}
	}
	for _, m := range s.members {
		s.begin(m)
	}
	s.views++
	s.show(s.views, s.members...)
}

func (s *stage) member(name string) *member { return s.members[name[0]-'a'] }

func (s *stage) do(t *testing.T, fields []string) {
	t.Helper()
	verb, quiet := fields[0], 500*time.Millisecond
	if verb == "members" {
		s.found(t, fields)
		s.pass(quiet)
		return
	}
	switch verb {
	case "guest":
		m := &member{id: protocol.ID(len(s.members) + 1), disk: disk{logs: map[uint64]*log{}}, guest: true}
		s.members = append(s.members, m)
		s.begin(m)
		s.views++
		s.show(s.views, s.up()...)
	case "heal":
		clear(s.cut)
	case "pass":
		d, err := time.ParseDuration(fields[1])
		if err != nil {
			t.Fatal(err)
		}
		quiet += d
	case "view":
		var of []*member
		for name := range strings.SplitSeq(fields[1], ",") {
			of = append(of, s.member(name))
		}
		s.views++
		s.show(s.views, of...)
	case "crash":
		m := s.member(fields[1])
		s.crash(m, len(m.journalRequests)/2)
	case "start":
		s.begin(s.member(fields[1]))
		s.views++
		s.show(s.views, s.up()...)
	case "cut":
		if len(fields) > 2 {
			a, b := s.member(fields[1]).id, s.member(fields[2]).id
			s.cut[[2]protocol.ID{a, b}] = true
			s.cut[[2]protocol.ID{b, a}] = len(fields) == 3
			break
		}
		for _, other := range s.members {
			s.cut[[2]protocol.ID{s.member(fields[1]).id, other.id}], s.cut[[2]protocol.ID{other.id, s.member(fields[1]).id}] = true, true
		}
	case "fail":
		s.member(fields[1]).refuses = errors.New("no space left on device")
	case "use":
		s.use(fields)
	default:
		s.call(s.member(fields[1]), 1, s.fact(t, verb, fields))
	}
	s.pass(quiet)
}

// up are the members that are.
func (s *stage) up() []*member {
	return slices.DeleteFunc(slices.Clone(s.members), func(m *member) bool { return m.machine == nil })
}

func (s *stage) use(fields []string) {
	times, _ := strconv.Atoi(fields[3])
	number, _ := strconv.ParseUint(fields[2], 10, 64)
	id := lock.SessionID{Member: 9, Number: number}
	s.hushed, s.used = true, 0
	m := s.member(fields[1])
	for i := range times {
		request := uint64(1000 + i)
		s.call(m, 1, &lock.Request{Session: id, ID: request, Name: fields[4], WaitEnd: lock.Never, Arrived: s.now - m.start})
		s.pass(20 * time.Millisecond)
		s.call(m, 1, &protocol.Release{Session: id, Request: request, Name: fields[4]})
		s.pass(20 * time.Millisecond)
	}
	s.hushed = false
	s.say(m, fmt.Sprintf("%d granted", s.used))
}

// fact makes what a member is asked of a line.
func (s *stage) fact(t *testing.T, verb string, fields []string) any {
	t.Helper()
	m := s.member(fields[1])
	arg := func(i int) string {
		if i < len(fields) && fields[i] != "*" {
			return fields[i]
		}
		return ""
	}
	number, _ := strconv.ParseUint(arg(2), 10, 64)
	id := lock.SessionID{Member: 9, Number: number}
	request, _ := strconv.ParseUint(strings.TrimPrefix(arg(3), "#"), 10, 64)
	options := strings.Join(fields[2:], " ")
	option := func(key string, otherwise time.Duration) time.Duration {
		if _, rest, is := strings.Cut(options, key+"="); is {
			d, err := time.ParseDuration(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		return otherwise
	}
	if verb == "enroll" {
		return &protocol.Enroll{Session: id, TTL: option("ttl", time.Hour), Proof: [32]byte{byte(number)}, Own: strings.Contains(options, "own"), Attached: clientOf(options)}
	}
	if verb == "lock" {
		now := s.now - m.start
		q := &lock.Request{
			Session: id, ID: request, Name: arg(4), Try: strings.Contains(options, "try"), Arrived: now,
			WaitEnd: lock.After(now, option("wait", lock.Never)), Hold: option("hold", 0),
		}
		if _, owner, is := strings.Cut(options, "owner="); is {
			q.Owner = strings.Fields(owner)[0]
		}
		return q
	}
	if fact := ofClient(verb, id, request, arg); fact != nil {
		return fact
	}
	return s.ofOperator(t, verb, arg)
}

// ofClient makes what a client asks.
func ofClient(verb string, id lock.SessionID, request uint64, arg func(int) string) any {
	switch verb {
	case "unlock":
		return &protocol.Release{Session: id, Request: request, Name: arg(4)}
	case "cancel":
		return &protocol.Cancel{Session: id, Request: request, Name: arg(4)}
	case "extend":
		d, _ := time.ParseDuration(arg(5))
		return &protocol.Extend{Session: id, Request: request, Name: arg(4), Hold: d}
	case "beat":
		return &protocol.Beat{Session: id, Attached: clientOf(arg(3))}
	case "end":
		return &protocol.EndSession{Session: id, Idle: arg(3) == "idle", Attached: clientOf(arg(3)).Attachment}
	case "dismiss":
		return &protocol.Dismiss{Session: id}
	case "revoke":
		return &protocol.Revoke{Session: id, Why: holdfast.MemberLost}
	case "list":
		return &protocol.ListRequests{Session: id}
	case "holds":
		return &protocol.CountHolds{Session: id}
	case "adopt":
		adopt := &protocol.Adopt{Session: id}
		adopt.Last, _ = strconv.ParseUint(strings.TrimPrefix(arg(4), "last="), 10, 64)
		for field := range strings.SplitSeq(arg(3), ",") {
			if n, err := strconv.ParseUint(field, 10, 64); err == nil {
				adopt.Requests = append(adopt.Requests, n)
			}
		}
		return adopt
	}
	return nil
}

// clientOf returns the client that options name.
func clientOf(options string) (a lock.Attachments) {
	if _, client, is := strings.Cut(options, "client="); is {
		number, generation, _ := strings.Cut(strings.Fields(client)[0], ".")
		a.Client, _ = strconv.ParseUint(number, 10, 64)
		a.Generation, _ = strconv.ParseUint(generation, 10, 64)
	}
	return a
}

// ofOperator makes what an operator asks.
func (s *stage) ofOperator(t *testing.T, verb string, arg func(int) string) any {
	t.Helper()
	switch verb {
	case "show":
		return &protocol.Show{Name: arg(2), Stale: arg(3) == "stale"}
	case "scan":
		scan := &protocol.Scan{Limit: 100, Stale: arg(2) == "stale", After: arg(4), Prefix: arg(5)}
		if limit, err := strconv.Atoi(arg(3)); err == nil {
			scan.Limit = limit
		}
		return scan
	case "break":
		return &protocol.Break{Name: arg(2)}
	case "inspect":
		return &protocol.Inspect{}
	case "transfer":
		return &protocol.Transfer{To: s.member(arg(2)).id}
	case "add", "promote", "remove":
		return &protocol.Reform{Member: s.member(arg(2)).id, As: map[string]protocol.Role{"add": protocol.Learner, "promote": protocol.Voter}[verb]}
	case "shards":
		return &protocol.ListShards{}
	case "stepdown":
		return &protocol.StepDown{}
	case "close":
		return &protocol.CloseSpace{}
	case "open":
		return &protocol.OpenSpace{}
	}
	t.Fatalf("%q is no command", verb)
	return nil
}
