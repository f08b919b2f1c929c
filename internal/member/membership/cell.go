package membership

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Cell is what a member remembers for ever (docs/design/membership.md §2). The zero Cell is
// that of a member that has never started.
type Cell struct {
	Cluster     uint64         // names the cluster, see Joined; the member that bootstraps it draws it
	ID          protocol.ID    // names the member
	Incarnation uint64         // counts starts
	Promised    uint64         // highest epoch counter promised or begun
	Candidate   protocol.ID    // the candidate that it was promised to
	Floor       uint64         // highest reign known to have begun: every later one is above it
	Owed        protocol.Reach // how far beyond its lease clients of earlier tenures may believe
	Clean       bool           // nothing is promised to any client
	// Pledges are what tenures have pledged to their clients, as far as it knows.
	Pledges *election.Pledges
	// Accepted is the newest view that was accepted; nil before the first.
	Accepted *election.View
}

// promised is the highest epoch that the member follows.
func (c *Cell) promised() protocol.Epoch {
	return protocol.Epoch{Counter: c.Promised, Candidate: c.Candidate}
}

// Joined is the cluster in which the member has taken part: it has accepted a view that was
// made with it, or a guest has heard of one. It is 0 before that. Until then Cluster is
// the name that this member would give a cluster, even where a founder has heard of a
// view: that one is in Accepted, for elections go by the newest one.
func (c *Cell) Joined() uint64 {
	if c.Accepted == nil || c.Accepted.Cluster != c.Cluster {
		return 0
	}
	return c.Cluster
}

// highest is the highest epoch counter that the member knows of.
func (c *Cell) highest() uint64 {
	highest := max(c.Promised, c.Floor)
	if c.Accepted != nil {
		highest = max(highest, c.Accepted.Epoch.Counter)
	}
	return highest
}

// plausible reports whether a cell can have been a member's.
func (c *Cell) plausible() bool {
	return c.highest() <= protocol.MaxEpoch && plausiblePledges(c.Pledges) && plausibleView(c.Accepted)
}

// The layouts: a line that people recognize, numbers, since version 2 the accepted
// view, since version 3 the pledges in the place of one horizon for all, a checksum. A cell of another version is refused rather than guessed at.
const (
	cellPrefix    = "holdfast cell "
	firstMagic    = cellPrefix + "1\n"
	secondMagic   = cellPrefix + "2\n"
	cellMagic     = cellPrefix + "3\n"
	firstBytes    = len(firstMagic) + 5*8 + 1 + 8
	leastBytes    = len(cellMagic) + 6*8 + 2 + checksumBytes
	checksumBytes = 8
	maxPlaces     = 10_000 // of members in a view, and of views in its base
)

// Flags of a cell.
const (
	flagClean = 1 << iota
	flagView
	flagInstalled
	flagOpen
	flagTerms
	flagOrder
	flagPledges // since version 3
	flagsEnd
)

// Flags of a member.
const (
	flagFounder = 1 << iota
	flagServes
	flagKept
	flagSince
	memberFlagsEnd
)

// Encode returns the cell's bytes.
func (c Cell) Encode() []byte {
	b := append(make([]byte, 0, 256), cellMagic...)
	for _, n := range []uint64{c.Cluster, uint64(c.ID), c.Incarnation, c.Promised, uint64(c.Candidate), c.Floor} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	v := c.Accepted
	b = append(b, byte(c.Owed), flags(c.Clean, v != nil, v != nil && v.Installed, v != nil && v.Open, v != nil && len(v.Terms) > 0,
		v != nil && v.Order != election.Order{}, !c.Pledges.Empty()))
	if v != nil {
		b = appendView(b, v)
	}
	if !c.Pledges.Empty() {
		b = appendPledges(b, c.Pledges)
	}
	return binary.BigEndian.AppendUint64(b, checksum(b))
}

// flags packs booleans into a byte, the first lowest.
func flags(set ...bool) byte {
	var b byte
	for i, on := range set {
		if on {
			b |= 1 << i
		}
	}
	return b
}

func appendView(b []byte, v *election.View) []byte {
	b = binary.BigEndian.AppendUint64(b, v.Cluster)
	b = appendHead(b, v.Epoch, v.Number)
	b = binary.AppendUvarint(b, uint64(len(v.Members)))
	for _, m := range v.Members {
		for _, n := range []uint64{uint64(m.ID), m.Tenure.Incarnation, m.Tenure.Lapses} {
			b = binary.BigEndian.AppendUint64(b, n)
		}
		b = append(b, flags(m.Founder, m.Serves, m.Kept, m.Since != 0))
		if m.Since != 0 {
			b = binary.BigEndian.AppendUint64(b, m.Since)
		}
		b = appendTexts(b, m.Name, m.Address, m.HTTP)
	}
	b = binary.AppendUvarint(b, uint64(len(v.Base)))
	for _, e := range v.Base {
		b = appendHead(b, e.Epoch, e.Number)
		b = binary.AppendUvarint(b, uint64(len(e.Voters)))
		for _, id := range e.Voters {
			b = binary.BigEndian.AppendUint64(b, uint64(id))
		}
	}
	if len(v.Terms) > 0 {
		b = appendTexts(binary.AppendUvarint(b, uint64(len(v.Terms))), v.Terms...)
	}
	if v.Order != (election.Order{}) {
		b = appendTexts(b, v.Order.Reason, v.Order.By)
	}
	return b
}

func appendPledges(b []byte, p *election.Pledges) []byte {
	b = binary.AppendUvarint(append(b, byte(p.Top), byte(p.Durable)), uint64(len(p.Of)))
	for _, q := range p.Of {
		for _, n := range []uint64{uint64(q.ID), q.Tenure.Incarnation, q.Tenure.Lapses, q.Version} {
			b = binary.BigEndian.AppendUint64(b, n)
		}
		b = append(b, byte(q.Reach))
	}
	return b
}

func appendTexts(b []byte, texts ...string) []byte {
	for _, text := range texts {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	return b
}

func appendHead(b []byte, epoch protocol.Epoch, number uint64) []byte {
	for _, n := range []uint64{epoch.Counter, uint64(epoch.Candidate), number} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return b
}

// DecodeCell reads what Encode wrote, or what versions 1 and 2 did. The error says what is
// wrong with the bytes: a damaged cell must not be taken for one that was never
// written.
func DecodeCell(b []byte) (Cell, error) {
	switch text := string(b[:min(len(b), 32)]); {
	case !strings.HasPrefix(text, cellPrefix):
		return Cell{}, fmt.Errorf("these %d bytes are not a stable cell", len(b))
	case strings.HasPrefix(text, firstMagic):
		return decodeFirst(b)
	case !strings.HasPrefix(text, cellMagic) && !strings.HasPrefix(text, secondMagic):
		version, _, _ := strings.Cut(text, "\n")
		return Cell{}, fmt.Errorf("%q: this version reads %q", version, strings.TrimSpace(cellMagic))
	case len(b) < leastBytes:
		return Cell{}, fmt.Errorf("a stable cell has at least %d bytes, this one has %d", leastBytes, len(b))
	}
	body, err := content(b)
	if err != nil {
		return Cell{}, err
	}
	r := reader{rest: body[len(cellMagic):]}
	c := Cell{
		Cluster: r.number(), ID: protocol.ID(r.number()), Incarnation: r.number(), Promised: r.number(),
		Candidate: protocol.ID(r.number()), Floor: r.number(),
	}
	set := r.owed(&c, strings.HasPrefix(string(b), secondMagic))
	c.Clean = set&flagClean != 0
	if set&flagView != 0 {
		c.Accepted = r.view()
		c.Accepted.Installed, c.Accepted.Open = set&flagInstalled != 0, set&flagOpen != 0
		if set&flagTerms != 0 {
			c.Accepted.Terms = r.terms()
		}
		if set&flagOrder != 0 {
			c.Accepted.Order = election.Order{Reason: r.text(), By: r.text()}
			r.damaged = r.damaged || c.Accepted.Order == election.Order{}
		}
	} else if set&(flagInstalled|flagOpen|flagTerms|flagOrder) != 0 {
		r.damaged = true
	}
	if set&flagPledges != 0 {
		c.Pledges = r.pledges()
		r.damaged = r.damaged || c.Pledges.Empty()
	}
	if r.damaged || len(r.rest) > 0 || !c.plausible() {
		return Cell{}, fmt.Errorf("the content of this stable cell of %d bytes is not in its format", len(b))
	}
	return c, nil
}

// owed reads how far clients believe, and the flags. Version 2 knew one length for the clients of
// all members: no member's in particular, so every member waits for it once.
func (r *reader) owed(c *Cell, second bool) byte {
	if !second {
		c.Owed = protocol.Reach(r.take(1)[0])
		return r.flags(flagsEnd)
	}
	horizon := time.Duration(r.number())
	set := r.flags(flagPledges)
	r.damaged = r.damaged || !lasting(horizon)
	if reach := protocol.ReachOf(horizon); reach > 0 {
		c.Pledges = &election.Pledges{Of: []election.Pledge{{Version: 1, Reach: reach}}, Limits: election.Limits{Top: reach}}
		if set&flagClean == 0 {
			c.Owed = reach
		}
	}
	return set
}

func (r *reader) pledges() *election.Pledges {
	p := &election.Pledges{}
	p.Top, p.Durable = protocol.Reach(r.take(1)[0]), protocol.Reach(r.take(1)[0])
	for range r.count(maxPlaces) {
		p.Of = append(p.Of, election.Pledge{
			ID: protocol.ID(r.number()), Tenure: protocol.Tenure{Incarnation: r.number(), Lapses: r.number()}, Version: r.number(),
			Reach: protocol.Reach(r.take(1)[0]),
		})
		if r.damaged {
			break
		}
	}
	return p
}

// decodeFirst reads version 1: that of a member alone, which recorded no view.
func decodeFirst(b []byte) (Cell, error) {
	if len(b) != firstBytes {
		return Cell{}, fmt.Errorf("a stable cell of version 1 has %d bytes, this one has %d", firstBytes, len(b))
	}
	body, err := content(b)
	if err != nil {
		return Cell{}, err
	}
	r := reader{rest: body[len(firstMagic):]}
	c := Cell{
		Cluster: r.number(), ID: protocol.ID(r.number()), Incarnation: r.number(), Promised: r.number(),
	}
	horizon := time.Duration(r.number())
	c.Owed = protocol.ReachOf(horizon)
	r.damaged = r.damaged || !lasting(horizon)
	c.Clean = r.flags(flagView) != 0
	if r.damaged || !c.plausible() {
		return Cell{}, fmt.Errorf("the content of this stable cell of version 1 is not in its format")
	}
	c.Candidate, c.Floor = c.ID, c.Promised
	return c, nil
}

// content checks the checksum and returns what it is about.
func content(b []byte) ([]byte, error) {
	body, sum := b[:len(b)-checksumBytes], binary.BigEndian.Uint64(b[len(b)-checksumBytes:])
	if checksum(body) != sum {
		return nil, fmt.Errorf("checksum %016x does not match the content's %016x, of %d bytes", sum, checksum(body), len(body))
	}
	return body, nil
}

// reader takes a cell's content apart. What is not there reads as zero, and damages.
type reader struct {
	rest    []byte
	damaged bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.rest) {
		r.damaged, r.rest = true, nil
		return make([]byte, min(n, 8))
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) number() uint64 { return binary.BigEndian.Uint64(r.take(8)) }

// flags reads a byte of which only the bits below end may be set.
func (r *reader) flags(end byte) byte {
	set := r.take(1)[0]
	r.damaged = r.damaged || set >= end
	return set
}

// count reads how many there are of something; it is in its shortest form.
func (r *reader) count(most int) int {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > uint64(most) || len(binary.AppendUvarint(nil, n)) != size {
		r.damaged, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[size:]
	return int(n)
}

func (r *reader) text() string { return string(r.take(r.count(len(r.rest)))) }

func (r *reader) head() (epoch protocol.Epoch, number uint64) {
	epoch = protocol.Epoch{Counter: r.number(), Candidate: protocol.ID(r.number())}
	return epoch, r.number()
}

func (r *reader) view() *election.View {
	v := &election.View{Cluster: r.number()}
	v.Epoch, v.Number = r.head()
	for range r.count(maxPlaces) {
		var m election.Member
		m.ID = protocol.ID(r.number())
		m.Tenure = protocol.Tenure{Incarnation: r.number(), Lapses: r.number()}
		set := r.flags(memberFlagsEnd)
		m.Founder, m.Serves, m.Kept = set&flagFounder != 0, set&flagServes != 0, set&flagKept != 0
		if set&flagSince != 0 {
			m.Since = r.number()
		}
		m.Name, m.Address, m.HTTP = r.text(), r.text(), r.text()
		v.Members = append(v.Members, m)
		if r.damaged {
			return v
		}
	}
	for range r.count(maxPlaces) {
		var e election.Electorate
		e.Epoch, e.Number = r.head()
		for range r.count(maxPlaces) {
			if e.Voters = append(e.Voters, protocol.ID(r.number())); r.damaged {
				return v
			}
		}
		if r.damaged {
			return v // a count of many, with nothing behind it
		}
		v.Base = append(v.Base, e)
	}
	return v
}

// terms are never none: then there is no flag for them.
func (r *reader) terms() (terms []string) {
	n := r.count(maxPlaces)
	r.damaged = r.damaged || n == 0
	for range n {
		if terms = append(terms, r.text()); r.damaged {
			break
		}
	}
	return terms
}

// checksum is FNV-1a: it tells damage from content, not an attacker from a friend.
func checksum(b []byte) uint64 {
	sum := uint64(14695981039346656037)
	for _, c := range b {
		sum = (sum ^ uint64(c)) * 1099511628211
	}
	return sum
}
