package bakery

import (
	"cmp"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
)

// book is a leader's knowledge: for each name the tickets that are choosing a number, and those that have one.
type book struct {
	names   map[string]*page
	tickets map[Key]*ticket
	// serials has the highest serial of each master that was heard of, this leader's own too.
	serials map[protocol.ID]uint64
	// floor is no less than any grant number of a name that has no page.
	floor uint64
}

// page is a name in the book: it exists while a ticket is entering or has a number.
type page struct {
	name     string
	count    uint64    // the highest grant number of the name that is known here
	given    uint64    // the highest one that this leader's own tickets have
	ended    uint64    // what count was when a ticket ended last: no grant that has ended has a higher one here
	entering []*ticket // in the order in which they were heard of
	tickets  []*ticket // that have a number, in order of it
	waits    []*ticket // this leader's own, from when they get a number until they are ready
	kept     []*ticket // that were taken over from the term before, and may have been locked then
}

// step is how far a ticket is, as far as this leader knows.
type step uint8

const (
	entering step = iota + 1 // choosing a number
	counting                 // published: its master asks for the highest one
	adding                   // it has a number, and other leaders are learning it
	waiting                  // for the tickets that were choosing when it got it
	ready                    // for its turn
	locked                   // its member has the message
)

// ticket is a client's request in the book.
type ticket struct {
	Ticket
	page   *page
	master protocol.ID
	step   step
	serial uint64 // its master's
	number uint64 // 0 while it is choosing
	chosen bool   // it has exited: no ticket waits for it to choose any more
	// until is the end of the grace of a holder whose hold limit has passed; 0 if it has none.
	until protocol.Time

	// What only its master keeps.
	heard    []protocol.ID // the leaders that have answered to its entering
	still    []Key         // tickets that were choosing when it got its number, and have not exited
	early    bool          // they were asked to agree when they learnt its number
	proposed bool          // they were asked to agree, and may do so
	token    holdfast.Token
	since    protocol.Time // when it was locked
	notified bool          // its member knows that it has to wait

	// wanted means, at another leader, that its master knows that it is not the first here, and waits to learn when it
	// is.
	wanted bool

	// accepted means that it may be locked, as far as another leader knows: this one has agreed to it, under this term
	// or an earlier one, or knows of a leader that may have.
	accepted bool

	// What was taken over from the term before.
	formerly protocol.ID // its master then
	named    bool        // that master has named it
	held     bool        // that master leads still, and has said that it is locked; it has not asked for agreement since
	kept     bool        // it is in its page's kept
	orphan   bool        // that master is gone, and its member has not claimed it yet
	claimed  bool        // its member has
}

func newBook() *book {
	return &book{names: map[string]*page{}, tickets: map[Key]*ticket{}, serials: map[protocol.ID]uint64{}}
}

// pageOf returns the page of a name, and creates it if needed.
func (b *book) pageOf(name string) *page {
	p := b.names[name]
	if p == nil {
		p = &page{name: name, count: b.floor, ended: b.floor}
		b.names[name] = p
	}
	return p
}

// enter adds a ticket that is choosing its number. An entry under the same key is outdated, and is removed.
func (b *book) enter(t Ticket, master protocol.ID, serial uint64) *ticket {
	if known := b.tickets[t.Key]; known != nil {
		b.remove(known)
	}
	p := b.pageOf(t.Name)
	entered := &ticket{Ticket: t, page: p, master: master, serial: serial, step: entering}
	b.serials[master] = max(b.serials[master], serial)
	p.entering = append(p.entering, entered)
	b.tickets[t.Key] = entered
	return entered
}

// add gives a ticket its number. It is still choosing until it exits.
func (b *book) add(t *ticket, number uint64) {
	t.number, t.step = number, adding
	p := t.page
	at, _ := slices.BinarySearchFunc(p.tickets, t, compare)
	p.tickets = slices.Insert(p.tickets, at, t)
}

// exit ends a ticket's choosing.
func (b *book) exit(t *ticket) {
	t.chosen = true
	t.page.entering = slices.DeleteFunc(t.page.entering, func(o *ticket) bool { return o == t })
}

// remove ends a ticket.
func (b *book) remove(t *ticket) {
	p := t.page
	same := func(o *ticket) bool { return o == t }
	if !t.chosen {
		p.entering = slices.DeleteFunc(p.entering, same)
	}
	if t.step >= adding {
		p.tickets = slices.DeleteFunc(p.tickets, same)
	}
	p.leaveWaits(t)
	if t.kept {
		p.kept = slices.DeleteFunc(p.kept, same)
	}
	p.ended = p.count
	delete(b.tickets, t.Key)
	if len(p.entering)+len(p.tickets) == 0 {
		b.floor = max(b.floor, p.count)
		delete(b.names, p.name)
	}
}

// leaveWaits notes that a ticket is ready, or gone.
func (p *page) leaveWaits(t *ticket) {
	p.waits = slices.DeleteFunc(p.waits, func(o *ticket) bool { return o == t })
}

// compare orders tickets by number, then by key.
func compare(a, b *ticket) int {
	if c := cmp.Compare(a.number, b.number); c != 0 {
		return c
	}
	return a.Key.Compare(b.Key)
}

// max returns the highest number on a page.
func (p *page) max() uint64 {
	if len(p.tickets) == 0 {
		return 0
	}
	return p.tickets[len(p.tickets)-1].number
}

// choosing returns the tickets that are choosing a number, except one.
func (p *page) choosing(but Key) (list []Choosing) {
	for _, t := range p.entering {
		if t.Key != but {
			list = append(list, Choosing{t.Key, t.master, t.serial})
		}
	}
	return list
}

// compatible reports whether two tickets can be locked at one time, units apart.
func compatible(a, b *Ticket) bool {
	return a.Mode == b.Mode && a.Mode != holdfast.ModeExclusive && a.Capacity == b.Capacity
}

// before examines the tickets before a ticket: whether it is compatible with all of them, as far as this leader knows,
// and their units. If not, by is the first that blocks it. A ticket that was locked in the previous term, or may have
// been, also blocks it from behind: it was locked after this ticket had ended, and a leader that did not know of the
// end has handed this ticket over.
func (p *page) before(t *ticket) (ahead []TicketUnits, by *ticket) {
	units := t.Units
	fits := func(o *ticket) bool {
		if t.Mode == holdfast.ModeSlots {
			units += o.Units
			ahead = append(ahead, TicketUnits{o.Key, o.Units})
		}
		return compatible(&t.Ticket, &o.Ticket) && (t.Mode != holdfast.ModeSlots || units <= t.Capacity)
	}
	for _, o := range p.tickets {
		if o == t {
			break
		}
		if !fits(o) {
			return nil, o
		}
	}
	for _, o := range p.kept {
		if compare(o, t) > 0 && o.isHeld() && !protocol.Mutated("no ticket goes past one that is held") && !fits(o) {
			return nil, o
		}
	}
	return ahead, nil
}

// keep notes that a ticket that was taken over may have been locked.
func (p *page) keep(t *ticket) {
	if !t.kept {
		t.kept, p.kept = true, append(p.kept, t)
	}
}

// isHeld reports whether a taken-over ticket is locked, as reported by its master, or possibly until its member has
// reported.
func (t *ticket) isHeld() bool { return t.step == locked || t.held || t.orphan && t.accepted }

// otherCapacity returns the capacity of a master's slots on the page that is another one than a ticket's,
// or 0. Others' slots may have ended, and only their master knows.
func (p *page) otherCapacity(t *Ticket, master protocol.ID) int {
	if t.Mode != holdfast.ModeSlots {
		return 0
	}
	for _, o := range p.tickets {
		if o.master == master && o.Mode == holdfast.ModeSlots && o.Capacity != t.Capacity {
			return o.Capacity
		}
	}
	return 0
}
