package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/option"
	"github.com/holdfast-locks/holdfast/protocol/probe"
	"github.com/holdfast-locks/holdfast/storage"
)

// Settings describe one run before it starts: everything else is left to chance during the run. All of them are drawn
// from the seed, so that every run has its own mix of faults, with its own odds and durations (Groce et al., Swarm
// Testing, 2012).
type settings struct {
	protocol string
	seed     uint64
	members  int
	founders int
	faults   Faults // the mix of this run
	once     bool   // if crashes are the only fault: a single one, of the coordinator
	duration time.Duration
	stores   bool // members share a store

	lease   time.Duration
	drift   float64
	memory  memory
	weather weather
	every   map[Fault]time.Duration // average interval of each fault

	clients         int
	workers         int // per client
	visitors        int // users of HTTP
	locals          bool
	ttl             []time.Duration // of clients
	restless        time.Duration   // interval at which clients come, leave or change their ttl; 0 means never (restless.go)
	bias            Bias
	costs           bool // count the messages of users' acts when all has settled
	survive         bool // survivors of a coordinator's crash must keep their locks
	modest          bool // clients want no horizon but for a while
	names           []lockName
	think           time.Duration
	holding         time.Duration
	impatient       int // of 10,000 waits, the number that callers give up
	extend          int
	willing         int // odds that a user asks to be refused in a deadlock, in 10,000; 0 in most runs
	amend           int // odds that a holder sets a value, in 10,000; 0 in most runs
	foreign         int
	waiters         int // bounds; 0 means the defaults
	locksPerSession int
	sessions        int
	observes        bool             // a name is observed (observer.go)
	quota           int              // locks of every second client at each member; 0 means none (quota.go)
	options         option.Values    // of the space, other than the defaults
	known           probe.Known      // the simulator's knowledge of the options
	stored          probe.Stored     // reads locks off the store
	shards          int              // number of logs that members keep for the space
	store           storage.Features // features of the store
	reforms         time.Duration    // interval of operators' changes of voters; 0 means never
	busy            bool             // a member that wakes from a pause reads arrivals before it judges time (busy.go)
	meddles         time.Duration    // interval at which third parties use a client's credentials (meddling.go); 0 means never
	heir            bool             // there is a client that takes sessions over (heir.go),
	squanders       bool             // which gives up what it has inherited
	heirs           time.Duration    // interval of takeovers; 0 if a script has the times
	crowd           int              // number of names that a client requests at once (burst.go),
	burst           time.Duration    // and when; 0 if a script has the time
	deafens         time.Duration    // when a leader hears no other member, and crashes (deafen.go); 0 means never
	gathers         bool             // each client has a user that takes several names together (gather.go)
	crosses         time.Duration    // interval of operators' breaks while the authority moves (crossing.go); 0 means never
	eager           time.Duration    // interval at which several members become the authority at once (eager.go); 0 means never
	strikes         bool             // participants of a transfer crash
	snatch          time.Duration    // interval of crashes of members that keep something; 0 means never
	far             afar             // distance between members (far.go)
}

// know reads the simulator's knowledge of the options. The error names the wrong option.
func (s *settings) know(p *Protocol) error {
	options, err := p.Descriptor.Check(s.options, nil, &protocol.Setup{Space: holdfast.DefaultSpace, Process: "r", Table: lock.Config{Drift: s.drift}})
	if err != nil {
		return err
	}
	if s.shards = options.Parts(); p.Known != nil {
		s.known = p.Known(options)
	}
	if p.Stored != nil {
		s.stored = p.Stored(options)
	}
	return nil
}

// mustKnow is know for options that were drawn.
func (s *settings) mustKnow(p *Protocol) {
	if err := s.know(p); err != nil {
		panic(fmt.Sprintf("sim: options %v: %v", s.options, err))
	}
}

// memory is the reliability of the members' cells.
type memory uint8

const (
	// No member forgets: horizons and skewed wall clocks are safe.
	_ memory = iota
	// oneForgets: one member may lose its cell, which is less than a quorum.
	oneForgets
	// forgetful: any member may lose its cell or has none. Then no horizon is promised,
	// and wall clocks are not set back (docs/design/promises.md §5.5).
	forgetful
	// mostForget: a quorum may be lost permanently, cells included.
	mostForget
)

var memoryNames = [...]string{"kept", "one cell may be lost", "any cell may be lost, some members have none", "those of a quorum may be lost for good"}

// trusted reports whether enough is remembered for promises that outlive leases.
func (m memory) trusted() bool { return m != forgetful && m != mostForget }

// lockName is a name that users lock, and its use.
type lockName struct {
	name     string
	use      holdfast.Mode
	capacity int
}

func (n lockName) String() string { return n.name }

// weather is the state of the network and the disks at a time. Odds count in 10,000.
type weather struct {
	latency   time.Duration // maximum for most messages
	delay     int
	loss      int
	duplicate int
	reorder   int
	disk      time.Duration // maximum for most writes
	diskFail  int
	store     time.Duration // maximum for most ways to the store and back
	storeFail int
}

// calm is the weather without faults.
func calm() weather {
	return weather{latency: 2 * time.Millisecond, disk: 5 * time.Millisecond, store: 5 * time.Millisecond}
}

const longestRun = 48 * time.Hour

// draw draws the settings of a run. The faults in Later come from later, the restlessness of clients from restless, the
// space's options from options, and eagerness from eager.
func draw(c *Config, r, later, restless, options, eager *rand.Rand, seed uint64) settings {
	s := settings{
		protocol: c.Protocol.Name, stores: c.Protocol.Stores, seed: seed, duration: c.Duration, lease: 3 * time.Second, drift: 0.05,
		every: map[Fault]time.Duration{}, options: option.Values{},
	}
	s.members = c.Members
	if s.members == 0 {
		s.members = c.Protocol.Fewest + r.IntN(c.Protocol.Most-c.Protocol.Fewest+1)
	}
	s.founders = s.members
	if s.members > 3 && r.IntN(3) == 0 {
		s.founders -= 1 + r.IntN(min(2, s.members-3))
	}
	if c.Protocol.Logs {
		s.founders = s.members
	}
	s.drawFaults(c, r, later)
	s.drawWeather(r)
	s.drawUsers(c, r)
	s.drawRestless(c, restless)
	s.drawOptions(c, options)
	s.mustKnow(&c.Protocol)
	s.drawEager(c, eager)
	s.costs = c.Faults == 0
	s.survive = c.Survive
	s.bend(c.Bias)
	return s
}

// drawFaults draws the run's faults, and their rates. Delay is in every run that may have it.
func (s *settings) drawFaults(c *Config, r, later *rand.Rand) {
	allowed := c.Faults & (c.Protocol.Faults | Beyond)
	if s.members == 1 {
		// No other member remembers: the documentation warns of deleting its cell under living clients.
		allowed = allowed.Without(Amnesia)
	}
	for _, f := range (allowed &^ Later).All() {
		// A set of one fault is taken as it is; of several, each run has its own half.
		if f == Delay || allowed&(allowed-1) == 0 || r.IntN(2) == 0 || c.Bias.AllFaults {
			s.faults = s.faults.With(f)
		}
	}
	s.drawLater(c, allowed, later)
	if s.faults.Has(Amnesia) {
		s.memory = oneForgets
		if s.members < 3 || r.IntN(2) == 0 {
			s.memory = forgetful
			s.faults = s.faults.Without(Skew).Without(Step)
		}
	}
	s.once = r.IntN(2) == 0
	every := func(r *rand.Rand) time.Duration {
		return 2*time.Second + time.Duration(r.Int64N(int64(20*time.Second)))
	}
	for _, f := range (s.faults &^ Later).All() {
		s.every[f] = every(r)
	}
	for _, f := range (s.faults & Later).All() {
		s.every[f] = every(later)
	}
}

// drawLater draws the faults of Later. A view is forced only where a quorum counts; a cluster that loses the cells of a
// quorum has no promise of horizons, nor for a clock that was set back.
func (s *settings) drawLater(c *Config, allowed Faults, r *rand.Rand) {
	single := allowed&(allowed-1) == 0
	none := !single && r.IntN(2) == 0
	for _, f := range (allowed & Later).All() {
		if drawn := r.IntN(2) == 0; single || drawn && !none || c.Bias.AllFaults {
			s.faults = s.faults.With(f)
		}
	}
	if s.faults.Has(Any) || s.founders < 2 {
		s.faults = s.faults.Without(Force)
	}
	if s.faults.Has(Force) {
		s.memory = mostForget
		s.faults = s.faults.Without(Amnesia).Without(Skew).Without(Step)
	}
}

// odds draws the odds of a fault of the run, in 10,000.
func (s *settings) odds(r *rand.Rand, f Fault, least, most int) int {
	if !s.faults.Has(f) {
		return 0
	}
	return least + r.IntN(most-least+1)
}

func (s *settings) drawWeather(r *rand.Rand) {
	s.weather = calm()
	s.weather.latency += time.Duration(r.Int64N(int64(40 * time.Millisecond)))
	s.weather.delay = s.odds(r, Delay, 10, 300)
	s.weather.loss = s.odds(r, Loss, 10, 1500)
	s.weather.duplicate = s.odds(r, Duplicate, 10, 1500)
	s.weather.reorder = s.odds(r, Reorder, 500, 10_000)
	s.weather.diskFail = s.odds(r, DiskFail, 100, 3000)
	s.weather.disk += time.Duration(r.Int64N(int64(30 * time.Millisecond)))
}

func (s *settings) drawUsers(c *Config, r *rand.Rand) {
	s.clients = 2 + r.IntN(4)
	s.workers = 1 + r.IntN(3)
	s.locals = r.IntN(2) == 0
	s.visitors = r.IntN(3)
	s.ttl = []time.Duration{time.Second, 2 * time.Second, s.lease * 9 / 10}
	if s.memory.trusted() {
		s.ttl = append(s.ttl, 0, 4*time.Second, 8*time.Second)
		if r.IntN(2) == 0 {
			s.ttl = s.ttl[3:]
		}
	}
	for i := range 1 + r.IntN(3) {
		n := lockName{name: fmt.Sprintf("n%d", i)}
		if x := r.IntN(6); x == 0 {
			n.use = holdfast.ModeShared
		} else if x == 1 {
			n.use, n.capacity = holdfast.ModeSlots, 2+r.IntN(4)
		}
		s.names = append(s.names, n)
	}
	s.think = 20*time.Millisecond + time.Duration(r.Int64N(int64(1500*time.Millisecond)))
	s.holding = 5*time.Millisecond + time.Duration(r.Int64N(int64(1200*time.Millisecond)))
	s.impatient = r.IntN(3000)
	s.extend = r.IntN(2000)
	s.foreign = r.IntN(1500)
	if r.IntN(8) == 0 {
		s.waiters = 1 + r.IntN(4)
	}
	if r.IntN(8) == 0 {
		s.locksPerSession = 2 + r.IntN(3)
	}
	if !c.Protocol.Locks {
		s.locals, s.visitors, s.names = false, 0, nil
	}
}

// valuesStream is mixed with the seed to draw whether holders set values.
const valuesStream = 0x76616c75657300

// drawValues draws how often holders set values: never in two thirds of the runs, and in those that count users'
// messages.
func (s *settings) drawValues(c *Config, r dice) {
	drawn, odds := r.IntN(3) == 0, 500+r.IntN(4000)
	switch {
	case c.Faults == 0 || !c.Protocol.Locks:
	case c.Bias.Values:
		s.amend = 5000
	case drawn:
		s.amend = odds
	}
}

// deadlockStream is mixed with the seed to draw the users that would rather fail.
const deadlockStream = 0x646561646c6f636b

// drawDeadlocks draws how often users ask to be refused rather than wait in a cycle of waits, if the protocol offers that:
// never in seven eighths of the runs, and in those that count users' messages.
func (s *settings) drawDeadlocks(c *Config, r dice) {
	drawn, odds := r.IntN(8) == 0, 1000+r.IntN(6000)
	_, ships := Find(c.Protocol.Name) // others need not know the option
	switch {
	case !ships || !c.Protocol.Locks || c.Protocol.Peers || c.Protocol.Stores || s.costs || c.Faults == 0:
	case c.Bias.Deadlocks:
		s.willing = 7000
	case drawn:
		s.willing = odds
	}
}

// optionsStream is mixed with the seed to draw the options of a space.
const optionsStream = 0x6f7074696f6e7690

// drawOptions draws the options of a space, in a third of the runs for most of them, and the settings that go with
// them. Runs that count users' messages have no options except those of stores.
func (s *settings) drawOptions(c *Config, r *rand.Rand) {
	run := probe.Run{Rand: r, Members: s.members, Options: s.options}
	if c.Protocol.Draw != nil && (c.Faults != 0 || c.Protocol.Stores) {
		c.Protocol.Draw(&run)
	}
	if c.Protocol.Stores {
		s.store = simulatedStore(run.TTL, run.Watch, run.Ends)
	}
	for i := range s.names {
		switch n := &s.names[i]; {
		case run.Capacity > 0:
			n.use, n.capacity = holdfast.ModeSlots, run.Capacity
		case run.Exclusive:
			n.use, n.capacity = holdfast.ModeExclusive, 0
		}
	}
	if run.Belief > 0 {
		s.ttl = slices.DeleteFunc(s.ttl, func(ttl time.Duration) bool { return cmp.Or(ttl, 10*time.Second)*11/10 > run.Belief })
		if len(s.ttl) == 0 {
			s.ttl = []time.Duration{time.Second}
		}
	}
	if run.Often {
		s.think, s.holding = 20*time.Millisecond, 10*time.Millisecond
	}
	if run.Reigns {
		s.longReigns()
	}
}

// drawLogs draws the options of a space whose members keep logs, from its own source of chance.
func (s *settings) drawLogs(c *Config, r dice) {
	if more := 2 + r.IntN(3); r.IntN(3) == 0 && c.Protocol.hasOption("shards") {
		s.options["shards"] = strconv.Itoa(more)
	}
	s.drawReforms(c, r)
}

// atLeastNames adds names up to a minimum number.
func (s *settings) atLeastNames(least int) {
	for i := len(s.names); i < least; i++ {
		s.names = append(s.names, lockName{name: fmt.Sprintf("n%d", i)})
	}
}

// longReigns adds names until an authority close to its users pays off, and slows the rate of faults so that a reign
// lasts for some windows.
func (s *settings) longReigns() {
	s.workers = 4
	s.atLeastNames(8)
	//tidy:unordered each is changed on its own
	for f, every := range s.every {
		s.every[f] = 4 * every
	}
}

// more adds the rows that few runs have.
func (s *settings) more(row func(name, format string, arguments ...any)) {
	if len(s.options) > 0 {
		row("options", "%v", s.options)
	}
	if s.reforms > 0 {
		row("reforms", "every %v, autopilot %v (0s is off)", s.reforms.Round(time.Millisecond), s.known.Autopilot)
	}
	if s.busy {
		row("busy", "who wakes from a pause hears what has come first")
	}
	if s.far.way > 0 {
		row("far", "a message between members takes %v longer from %v to %v (0s is the end)", s.far.way, s.far.from, s.far.until)
	}
	if s.meddles > 0 {
		row("meddles", "every %v", s.meddles.Round(time.Millisecond))
	}
	if s.heirs > 0 {
		row("heirs", "every %v, squander=%v", s.heirs.Round(time.Millisecond), s.squanders)
	}
	if s.crowd > 0 {
		row("crowd", "%d requests at %v", s.crowd, s.burst.Round(time.Millisecond))
	}
	if s.deafens > 0 {
		row("deaf leader", "at %v", s.deafens.Round(time.Millisecond))
	}
	if s.quota > 0 {
		row("quota", "%d locks of every second client", s.quota)
	}
	if s.observes {
		row("observer", "of %q", s.names[0].name)
	}
	if s.gathers {
		row("gatherers", "one in each client, which takes names together")
	}
	if s.crosses > 0 {
		row("crosses", "every %v", s.crosses.Round(time.Millisecond))
	}
}

// String is the table of the settings, for people.
func (s *settings) String() string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name, format string, arguments ...any) {
		// A strings.Builder does not return errors.
		_, _ = fmt.Fprintf(t, name+"\t"+format+"\n", arguments...)
	}
	row("setting", "value")
	row("protocol", "%s", s.protocol)
	row("seed", "%d", s.seed)
	row("members", "%d, of them %d founders", s.members, s.founders)
	row("faults", "%v for %v", s.faults, s.duration)
	row("cells", "%s", memoryNames[s.memory])
	row("latency", "%v, of 10,000: %d delayed, %d lost, %d twice, %d reordered",
		s.weather.latency, s.weather.delay, s.weather.loss, s.weather.duplicate, s.weather.reorder)
	row("disk", "%v, of 10,000: %d fail", s.weather.disk, s.weather.diskFail)
	if s.stores {
		row("store", "%v, of 10,000: %d fail", s.weather.store, s.weather.storeFail)
	}
	for _, f := range s.faults.All() {
		row("every "+f.String(), "%v", s.every[f].Round(time.Millisecond))
	}
	row("clients", "%d of %d workers, ttl one of %v; %d visitors over HTTP; users within members: %v", s.clients, s.workers, s.ttl, s.visitors, s.locals)
	for _, n := range s.names {
		row("name "+n.name, "%v %d", n.use, n.capacity)
	}
	if s.bias != (Bias{}) {
		row("bias", "%v", s.bias)
	}
	if s.restless > 0 {
		row("restless", "every %v, modest: %v", s.restless.Round(time.Millisecond), s.modest)
	}
	if s.eager > 0 || s.strikes || s.snatch > 0 {
		row("eager", "every %v, struck: %v; who keeps something is struck every %v (0s is never)", s.eager.Round(time.Millisecond), s.strikes, s.snatch.Round(time.Millisecond))
	}
	s.more(row)
	if s.willing > 0 {
		row("deadlocks", "of 10,000 requests, %d would rather fail", s.willing)
	}
	if s.amend > 0 {
		row("values", "of 10,000 acts of a holder, %d set one", s.amend)
	}
	row("think, hold", "%v, %v", s.think, s.holding)
	row("bounds", "waiters_per_name %d, locks_per_session %d (0 is the default)", s.waiters, s.locksPerSession)
	_ = t.Flush()
	return b.String()
}
