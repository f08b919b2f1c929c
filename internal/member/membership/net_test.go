package membership

import (
	"container/heap"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// net is several members, their network, disks, clocks and clients, in virtual time.
// What it checks is what membership promises, seen from the holders' side: see check.
type net struct {
	t         testing.TB
	random    *rand.Rand
	now       time.Duration // real time
	events    agenda
	order     uint64
	sites     []*site
	clients   []belief
	acted     []act            // who has acted as an authority, each reign once
	viewed    []*election.View // under which an authority has acted, each once
	acceptors map[protocol.ID]acceptorState
	heard     map[string]int // how often a member has reported a forced view
	found     string
	trace     bool
	trusts    bool // no member is held to its word: what follows from a broken one is looked for
	rivals    bool // two authorities are there because an operator was wrong: nothing is checked

	delay  func() time.Duration
	loss   float64
	twice  float64
	filter func(from, to *site, msg any) bool // false: the message is lost
	faulty func(*site) bool                   // true: a write fails
	hangs  func(*site) bool                   // true: a write is not answered yet
	raised func(*process, any)                // hears what members raise
	noted  func(*process, protocol.Note)      // and what they note
	lag    func() time.Duration               // of a disk
}

// site is a place where a member may run: an address and a disk.
type site struct {
	net     *net
	name    string
	config  Config
	disk    []byte
	live    *process
	paused  time.Duration // until then
	cut     map[*site]time.Duration
	starts  uint64
	forgets bool // it keeps no cell
	rate    float64
	failed  error // why its member was unfit
	recalls *Cell // what the disk has
}

// process is one life of a member.
type process struct {
	*Machine
	site      *site
	born      time.Duration
	rate      float64
	view      *protocol.View // newest raised
	first     *protocol.View // of its epoch
	reports   map[protocol.ID]protocol.Tenure
	epoch     uint64 // of reports
	confirmed uint64 // epoch in which this process was confirmed
	last      []protocol.Reply
	lapses    int
	halted    bool              // it was raised Halted, and no view of its own since
	served    protocol.Epoch    // in which all members have reported to it
	follows   protocol.Epoch    // of the newest view that it was seen to accept
	carries   bool              // it had a lease then
	known     protocol.Time     // until when what the newest epoch does not know may be held
	current   protocol.Tenure   // under which it has a lease
	ended     []protocol.Tenure // under which it has had one
	held      protocol.Tenure   // the latest under which an authority has counted with it
	wake      protocol.Time
	spins     int // how often it was woken without any time passing
	horizon   protocol.Horizon
}

// belief is what a client was promised through a member's tenure, in real time.
type belief struct {
	id     protocol.ID
	tenure protocol.Tenure
	until  time.Duration
	bare   time.Duration // until when by the member's lease alone, without the horizon
}

// act is a reign that could grant.
type act struct {
	epoch protocol.Epoch
	count uint32
}

// report stands for a space's reconciliation: what the member holds.
type report struct {
	epoch  uint64
	tenure protocol.Tenure
}

func (r report) String() string { return "report" }

// known answers a report.
type known struct{ epoch uint64 }

func (k known) String() string { return "known" }

type event struct {
	at    time.Duration
	order uint64
	do    func()
}

type agenda []event

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].order < a[j].order
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(event)) }
func (a *agenda) Pop() any {
	old := *a
	x := old[len(old)-1]
	*a = old[:len(old)-1]
	return x
}

const second = time.Second

// newNet makes n founders, called a, b, c, …; tune changes their configurations.
func newNet(t testing.TB, seed uint64, founders, guests int, tune func(*Config)) *net {
	n := &net{t: t, random: rand.New(rand.NewPCG(seed, 7))}
	n.acceptors, n.heard = map[protocol.ID]acceptorState{}, map[string]int{}
	n.delay = func() time.Duration {
		return time.Millisecond + time.Duration(n.random.Int64N(int64(4*time.Millisecond)))
	}
	n.lag = func() time.Duration { return time.Duration(n.random.Int64N(int64(3 * time.Millisecond))) }
	var addresses []string
	for i := range founders {
		addresses = append(addresses, string(rune('a'+i))+":1")
	}
	for i := range founders + guests {
		name := string(rune('a' + i))
		s := &site{net: n, name: name, cut: map[*site]time.Duration{}}
		s.config = Config{
			Name: name, Address: name + ":1", Founders: addresses, Founder: i < founders, Kept: true, Serves: true, Spaces: 1,
		}
		if tune != nil {
			tune(&s.config)
		}
		s.forgets = !s.config.Kept
		n.sites = append(n.sites, s)
	}
	n.tick()
	return n
}

// tick checks often, whether or not anything happens.
func (n *net) tick() {
	n.check()
	n.after(10*time.Millisecond, n.tick)
}

func (n *net) after(d time.Duration, do func()) {
	n.order++
	heap.Push(&n.events, event{n.now + d, n.order, do})
}

func (n *net) at(t time.Duration, do func()) { n.after(t-n.now, do) }

// run lets time pass.
func (n *net) run(d time.Duration) {
	end := n.now + d
	for len(n.events) > 0 && n.events[0].at <= end && n.found == "" {
		next := heap.Pop(&n.events).(event)
		n.now = next.at
		next.do()
	}
	n.now = end
}

// until runs until something holds, or fails the test after a limit.
func (n *net) until(limit time.Duration, what string, holds func() bool) {
	n.t.Helper()
	end := n.now + limit
	for !holds() {
		if n.found != "" {
			return
		}
		if n.now >= end || len(n.events) == 0 {
			n.t.Fatalf("%v: not within %v: %s\n%s", n.now, limit, what, n.dump())
		}
		n.run(min(10*time.Millisecond, end-n.now))
	}
}

func (n *net) dump() string {
	var b strings.Builder
	for _, s := range n.sites {
		if s.live == nil {
			fmt.Fprintf(&b, "%s is down\n", s.name)
			continue
		}
		p := s.live
		fmt.Fprintf(&b, "%s starting=%v saving=%v exit=%+v survey=%v ballot=%v until=%v repeat=%v wait=%v followed=%v status=%v accepted=%v promised=%d leased=%v tenure=%v heard=%v tryAt=%v local=%v reign=%v", s.name, p.starting, p.saving, p.exit, p.survey != nil, p.ballot != nil, p.search.until, p.repeatAt, p.wait, p.followed, p.status(), p.cell.Accepted, p.cell.Promised,
			p.leased, p.lease.Tenure, p.heard, p.tryAt, p.local(), p.reign != nil)
		if r := p.reign; r != nil {
			fmt.Fprintf(&b, " installed=%v served=%v from=%v role=%v proposal=%v", r.installed, r.served, r.grantFrom, p.lease.Role, r.proposal)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (n *net) log(format string, args ...any) {
	if n.trace {
		n.t.Logf("%9.3f %s", n.now.Seconds(), fmt.Sprintf(format, args...))
	}
}

// site returns a site by its name.
func (n *net) site(name string) *site {
	i := slices.IndexFunc(n.sites, func(s *site) bool { return s.name == name })
	return n.sites[i]
}

// start starts members; none means all that are down.
func (n *net) start(names ...string) {
	for _, s := range n.sites {
		if s.live == nil && (len(names) == 0 || slices.Contains(names, s.name)) {
			s.start()
		}
	}
}

func (s *site) start() {
	n := s.net
	s.starts++
	c := s.config
	c.Rand = rand.New(rand.NewPCG(n.random.Uint64(), 3))
	c.Wall = (Origin+1000)*second + n.now
	c.Kept = !s.forgets
	c.Cell = Cell{}
	if s.disk != nil && c.Kept {
		cell, err := DecodeCell(s.disk)
		if err != nil {
			n.t.Fatal(err)
		}
		c.Cell = cell
	}
	m, err := New(c)
	if err != nil {
		n.t.Fatal(err)
	}
	rate := s.rate
	if rate == 0 {
		rate = []float64{1, 1 / 1.05, 1 - 0.04*n.random.Float64()}[n.random.IntN(3)]
	}
	s.live = &process{Machine: m, site: s, born: n.now, rate: rate, reports: map[protocol.ID]protocol.Tenure{}, wake: protocol.Never}
	n.log("%s starts as %d, life %d", s.name, m.self, c.Cell.Incarnation+1)
	s.live.step(protocol.Event{Kind: protocol.Start})
}

func (s *site) crash() {
	s.net.log("%s crashes", s.name)
	s.live = nil
}

// lose forgets what the disk has. What clients were promised beyond the lease is void when no
// founder is left that has written down how far any client may believe, and not before.
func (s *site) lose() {
	n := s.net
	s.disk = nil
	var left protocol.Reach
	for _, o := range n.sites {
		if cell, err := DecodeCell(o.disk); err == nil && o.config.Founder {
			left = max(left, cell.Pledges.Bounds().Top)
		}
	}
	for i := range n.clients {
		if c := &n.clients[i]; c.until-c.bare > left.Span() {
			c.until = c.bare
		}
	}
}

func (s *site) pause(d time.Duration) {
	s.net.log("%s is paused for %v", s.name, d)
	s.paused = s.net.now + d
}

// isolate cuts a site off from others, both ways; none means from all.
func (n *net) isolate(name string, d time.Duration, others ...string) {
	s := n.site(name)
	for _, o := range n.sites {
		if o != s && (len(others) == 0 || slices.Contains(others, o.name)) {
			s.cut[o], o.cut[s] = n.now+d, n.now+d
		}
	}
}

// split cuts the named ones off from all others.
func (n *net) split(d time.Duration, names ...string) {
	for _, s := range n.sites {
		for _, o := range n.sites {
			if slices.Contains(names, s.name) != slices.Contains(names, o.name) {
				s.cut[o] = n.now + d
			}
		}
	}
}

func (n *net) heal() {
	for _, s := range n.sites {
		clear(s.cut)
	}
}

func (p *process) local() protocol.Time {
	return protocol.Time(float64(p.site.net.now-p.born) * p.rate)
}

// real is when the process's clock shows t.
func (p *process) real(t protocol.Time) time.Duration {
	if t > 1<<60 {
		return t
	}
	return p.born + time.Duration(float64(t)/p.rate) + 10
}

func (p *process) alive() bool { return p.site.live == p }

// step steps the machine, as a driver does, and lets its effects happen.
func (p *process) step(ev protocol.Event) {
	n := p.site.net
	if !p.alive() || n.found != "" {
		return
	}
	if p.site.paused > n.now {
		n.at(p.site.paused+time.Duration(n.random.Int64N(1000)), func() { p.step(ev) })
		return
	}
	var out protocol.Effects
	if ev.Kind != protocol.Tick && ev.Kind != protocol.Start && p.Wake() <= p.local() {
		p.Step(p.local(), protocol.Event{Kind: protocol.Tick}, &out)
	}
	p.Step(p.local(), ev, &out)
	p.happen(&out)
	p.arm()
	n.check()
}

func (p *process) happen(out *protocol.Effects) {
	n := p.site.net
	for _, fact := range out.Raises {
		p.raised(fact)
	}
	for _, note := range out.Notes {
		if _, is := note.(Ordered); is {
			n.heard[p.site.name]++
		}
		if n.noted != nil {
			n.noted(p, note)
		}
		n.log("%s notes %v", p.site.name, note)
	}
	p.last = append(p.last, out.Replies...)
	for _, send := range out.Sends {
		n.hold(p, send.Message)
		if save, ok := send.Message.(storage.Save); ok {
			n.after(n.lag(), func() { p.save(save) })
			continue
		}
		n.send(p, send)
	}
}

func (p *process) save(save storage.Save) {
	if !p.alive() {
		return
	}
	if n := p.site.net; n.hangs != nil && n.hangs(p.site) {
		n.after(100*time.Millisecond, func() { p.save(save) })
		return
	}
	saved := storage.Saved{ID: save.ID}
	if n := p.site.net; n.faulty != nil && n.faulty(p.site) {
		saved.Err = errors.New("disk full")
	} else {
		p.site.disk = save.Data
		if cell, err := DecodeCell(save.Data); err == nil {
			p.site.recalls = &cell
		}
	}
	p.step(protocol.Event{Kind: protocol.Receive, From: protocol.Storage, Fact: saved})
}

// arm ticks the machine when it wants to be woken.
func (p *process) arm() {
	wake := p.Wake()
	if wake > p.local() {
		p.spins = 0
	} else if p.spins++; p.spins > 100 {
		p.site.net.fail("%s wants to be woken at %v, which it was\n%s", p.site.name, wake, p.site.net.dump())
	}
	if wake == p.wake || wake == protocol.Never {
		p.wake = wake
		return
	}
	p.wake = wake
	n := p.site.net
	n.at(max(n.now, p.real(wake)), func() {
		if p.alive() && p.wake == wake {
			p.wake = protocol.Never
			p.step(protocol.Event{Kind: protocol.Tick})
		}
	})
}

// send carries a message: lossy, unordered, sometimes twice.
func (n *net) send(p *process, e protocol.Envelope) {
	for _, to := range n.sites {
		if e.To == protocol.AnyMember && to.config.Address != e.Address ||
			e.To != protocol.AnyMember && (to.live == nil || to.live.self != e.To) {
			continue
		}
		n.carry(p, to, e)
	}
}

func (n *net) carry(p *process, to *site, e protocol.Envelope) {
	if p.site.cut[to] > n.now || n.random.Float64() < n.loss || n.filter != nil && !n.filter(p.site, to, e.Message) {
		n.log("%s -x %s: %v", p.site.name, to.name, e.Message)
		return
	}
	n.log("%s -> %s: %v", p.site.name, to.name, e.Message)
	copies := 1
	if n.random.Float64() < n.twice {
		copies = 2
	}
	for range copies {
		n.after(n.delay(), func() { n.deliver(p.self, to, e) })
	}
}

func (n *net) deliver(from protocol.ID, to *site, e protocol.Envelope) {
	p := to.live
	if p == nil || e.To != protocol.AnyMember && p.self != e.To || p.self == from {
		return
	}
	switch msg := e.Message.(type) {
	case report:
		p.onReport(from, msg)
	case known:
		if p.view != nil && p.view.Epoch.Counter == msg.epoch && p.confirmed != msg.epoch {
			p.confirmed = msg.epoch
			p.step(protocol.Event{Kind: protocol.Raised, Port: 1, Fact: &protocol.Confirmed{Epoch: msg.epoch}})
		}
	default:
		p.step(protocol.Event{Kind: protocol.Receive, From: from, Fact: e.Message})
	}
}

// raised takes what the machine raises, as the spaces above would.
func (p *process) raised(fact any) {
	n := p.site.net
	n.log("%s raises %T %+v", p.site.name, fact, fact)
	if n.raised != nil {
		n.raised(p, fact)
	}
	switch fact := fact.(type) {
	case *protocol.View:
		first := p.view == nil || p.view.Epoch != fact.Epoch
		if first && p.view != nil && fact.Epoch.Counter <= p.view.Epoch.Counter && !n.trusts {
			n.fail("%s follows %v after %v", p.site.name, fact.Epoch, p.view.Epoch)
		}
		p.view, p.halted = fact, false
		if first {
			p.first = fact
			n.after(0, func() { p.report(fact.Epoch.Counter) })
		}
	case *protocol.Halted:
		p.halted = true
	case *protocol.Lapsed:
		p.lapses++
		p.ended = append(p.ended, p.current)
		p.current, p.carries = protocol.Tenure{}, false
	case *protocol.Horizon:
		p.horizon = *fact
	case *Unfit:
		p.site.failed = fact.Err
		p.site.crash()
	}
}

// report tells the authority of the epoch what is held here, until it knows.
func (p *process) report(epoch uint64) {
	n := p.site.net
	if !p.alive() || p.view.Epoch.Counter != epoch || p.confirmed == epoch {
		return
	}
	if p.view.Coordinator == p.self {
		p.confirmed = epoch
		p.step(protocol.Event{Kind: protocol.Raised, Port: 1, Fact: &protocol.Confirmed{Epoch: epoch}})
		return
	}
	if p.site.paused <= n.now {
		n.send(p, protocol.Envelope{To: p.view.Coordinator, Message: report{epoch, p.lease.Tenure}})
	}
	n.after(100*time.Millisecond, func() { p.report(epoch) })
}

func (p *process) onReport(from protocol.ID, r report) {
	if p.site.paused > p.site.net.now || p.reign == nil || p.reign.epoch.Counter != r.epoch {
		return
	}
	if p.epoch != r.epoch {
		p.epoch = r.epoch
		clear(p.reports)
	}
	p.reports[from] = r.tenure
	p.site.net.send(p, protocol.Envelope{To: from, Message: known{r.epoch}})
}

// promiseClient lets a client hold through the member, and believe for as long as the
// member may say: the client's clock may be the slowest.
func (p *process) promiseClient() {
	n := p.site.net
	left := min(p.lease.Carried-p.local(), p.config.Lease)
	if !p.alive() || p.site.paused > n.now || !p.leased || p.held != p.lease.Tenure || left <= 0 || !p.horizon.Clients {
		return
	}
	bare := n.now + left // it hears left/(1+δ), by a clock that may be 1+δ times as slow
	n.clients = append(n.clients, belief{p.self, p.lease.Tenure, bare + p.horizon.Confirmed, bare})
}

// want asks for a horizon.
func (p *process) want(h time.Duration, clients bool) {
	p.step(protocol.Event{Kind: protocol.Raised, Fact: &protocol.NeedHorizon{Want: h, Clients: clients}})
}

// call asks the member something and returns the answer, if it came at once.
func (p *process) call(fact any) any {
	p.last = nil
	p.step(protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: 1}, Fact: fact})
	if len(p.last) == 0 {
		return nil
	}
	return p.last[len(p.last)-1].Result
}
