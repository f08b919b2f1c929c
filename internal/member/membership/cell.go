package membership

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/lock/wire"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Cell is the member's permanent memory (docs/design/membership.md §2). The zero Cell belongs to a member that has
// never started.
type Cell struct {
	Cluster     uint64         // id of the cluster, see Joined; drawn by the member that bootstraps it
	ID          protocol.ID    // of the member
	Incarnation uint64         // number of starts
	Promised    uint64         // highest epoch counter promised or begun
	Candidate   protocol.ID    // the candidate it was promised to
	Floor       uint64         // highest reign known to have begun: every later one is higher
	Owed        protocol.Reach // how far beyond its lease clients of earlier tenures may believe
	Clean       bool           // no client has a promise
	// Pledges are the known pledges of tenures to their clients.
	Pledges *election.Pledges
	// Accepted is the newest accepted view; nil before the first.
	Accepted *election.View
}

// promised is the highest epoch that the member follows.
func (c *Cell) promised() protocol.Epoch {
	return protocol.Epoch{Counter: c.Promised, Candidate: c.Candidate}
}

// Joined returns the cluster that the member has joined: it has accepted a view made with it, or, as a guest, has heard
// of one. It is 0 before that. Until then Cluster is the id that this member would give a new cluster, even if a
// founder has heard of a view: that view is in Accepted, because elections use the newest one.
func (c *Cell) Joined() uint64 {
	if c.Accepted == nil || c.Accepted.Cluster != c.Cluster {
		return 0
	}
	return c.Cluster
}

// highest returns the highest epoch counter that the member knows.
func (c *Cell) highest() uint64 {
	highest := max(c.Promised, c.Floor)
	if c.Accepted != nil {
		highest = max(highest, c.Accepted.Epoch.Counter)
	}
	return highest
}

// plausible reports whether a member can have had this cell.
func (c *Cell) plausible() bool {
	return c.highest() <= protocol.MaxEpoch && plausiblePledges(c.Pledges) && plausibleView(c.Accepted)
}

// The layouts of the cell: a readable first line, numbers, since version 2 the accepted view, since version 3 the
// pledges instead of one horizon for all, and a checksum. A cell of an unknown version is refused.
const (
	cellPrefix    = "holdfast cell "
	firstMagic    = cellPrefix + "1\n"
	secondMagic   = cellPrefix + "2\n"
	cellMagic     = cellPrefix + "3\n"
	firstBytes    = len(firstMagic) + 5*8 + 1 + 8
	leastBytes    = len(cellMagic) + 6*8 + 2 + checksumBytes
	checksumBytes = 8
	cellBytes     = 640    // initial capacity: a cell with a view of five members, with some room
	maxPlaces     = 10_000 // of members in a view, and of views in its base
)

// Encode returns the cell's bytes.
func (c Cell) Encode() []byte {
	w := wire.To(append(make([]byte, 0, cellBytes), cellMagic...))
	codeCell(&c, &w, false)
	b := w.Appended()
	return binary.BigEndian.AppendUint64(b, checksum(b))
}

// DecodeCell reads the bytes of Encode, or those of versions 1 and 2. The error says what is wrong with the bytes: a
// damaged cell must not be mistaken for one that was never written.
func DecodeCell(b []byte) (x Cell, err error) {
	text := string(b[:min(len(b), 32)])
	first, second := strings.HasPrefix(text, firstMagic), strings.HasPrefix(text, secondMagic)
	switch {
	case !strings.HasPrefix(text, cellPrefix):
		return Cell{}, fmt.Errorf("these %d bytes are not a stable cell", len(b))
	case first && len(b) != firstBytes:
		return Cell{}, fmt.Errorf("a stable cell of version 1 has %d bytes, this one has %d", firstBytes, len(b))
	case !first && !second && !strings.HasPrefix(text, cellMagic):
		version, _, _ := strings.Cut(text, "\n")
		return Cell{}, fmt.Errorf("%q: this version reads %q", version, strings.TrimSpace(cellMagic))
	case !first && len(b) < leastBytes:
		return Cell{}, fmt.Errorf("a stable cell has at least %d bytes, this one has %d", leastBytes, len(b))
	}
	body, err := content(b)
	if err != nil {
		return Cell{}, err
	}
	c := wire.From(body[len(cellMagic):])
	if first {
		takeFirst(&x, &c)
	} else {
		codeCell(&x, &c, second)
	}
	if c.Err() == nil && !x.plausible() {
		c.Refuse("no member can have lived so")
	}
	if err := c.End(); err != nil {
		return Cell{}, fmt.Errorf("the content of this stable cell of %d bytes is not in its format: %w", len(b), err)
	}
	return x, nil
}

// codeCell encodes or decodes the content of a cell; version 2 is only decoded.
func codeCell(x *Cell, c *wire.Coder, second bool) {
	wire.Big(c, &x.Cluster)
	wire.Big(c, &x.ID)
	wire.Big(c, &x.Incarnation)
	wire.Big(c, &x.Promised)
	wire.Big(c, &x.Candidate)
	wire.Big(c, &x.Floor)
	horizon := uint64(0)
	if second {
		wire.Big(c, &horizon)
	} else {
		wire.Enum(c, &x.Owed, protocol.MaxReach)
	}
	v := x.Accepted
	there, pledges := v != nil, !x.Pledges.Empty()
	if !there {
		v = &election.View{}
	}
	terms, order := len(v.Terms) > 0, v.Order != election.Order{}
	c.Flags(&x.Clean, &there, &v.Installed, &v.Open, &terms, &order, &pledges)
	if second {
		takeHorizon(x, c, horizon, pledges)
	}
	switch {
	case there:
		codeView(v, c, terms, order)
	case v.Installed || v.Open || terms || order:
		c.Refuse("it says how its view is, and has none")
	}
	if !c.Writing() && there {
		x.Accepted = v
	}
	if pledges {
		if !c.Writing() {
			x.Pledges = &election.Pledges{}
		}
		codePledges(x.Pledges, c)
	}
}

// takeHorizon converts the single horizon of version 2, which applied to the clients of all members. It belongs to no
// particular member, so every member waits for it once.
func takeHorizon(x *Cell, c *wire.Coder, horizon uint64, pledges bool) {
	if !lasting(time.Duration(horizon)) || pledges {
		c.Refuse("it has a horizon of %v, or pledges", time.Duration(horizon))
		return
	}
	if reach := protocol.ReachOf(time.Duration(horizon)); reach > 0 {
		x.Pledges = &election.Pledges{Of: []election.Pledge{{Version: 1, Reach: reach}}, Limits: election.Limits{Top: reach}}
		if !x.Clean {
			x.Owed = reach
		}
	}
}

// takeFirst decodes version 1: a member alone, which recorded no view.
func takeFirst(x *Cell, c *wire.Coder) {
	horizon := uint64(0)
	wire.Big(c, &x.Cluster)
	wire.Big(c, &x.ID)
	wire.Big(c, &x.Incarnation)
	wire.Big(c, &x.Promised)
	wire.Big(c, &horizon)
	if c.Flags(&x.Clean); !lasting(time.Duration(horizon)) {
		c.Refuse("it has a horizon of %v", time.Duration(horizon))
	}
	x.Owed, x.Candidate, x.Floor = protocol.ReachOf(time.Duration(horizon)), x.ID, x.Promised
}

// codeView encodes or decodes a view. Nil and empty terms, and an empty order, have the same form.
func codeView(v *election.View, c *wire.Coder, terms, order bool) {
	wire.Big(c, &v.Cluster)
	codeHead(&v.Epoch, &v.Number, c)
	wire.ListFunc(c, &v.Members, 3*8+1+3, maxPlaces, codeMember)
	wire.ListFunc(c, &v.Base, 3*8+1, maxPlaces, codeElectorate)
	if terms {
		if wire.ListFunc(c, &v.Terms, 1, maxPlaces, codeText); len(v.Terms) == 0 {
			c.Refuse("its terms are none")
		}
	}
	if order {
		codeText(&v.Order.Reason, c)
		if codeText(&v.Order.By, c); v.Order == (election.Order{}) {
			c.Refuse("its order says nothing")
		}
	}
}

func codeMember(m *election.Member, c *wire.Coder) {
	wire.Big(c, &m.ID)
	wire.Big(c, &m.Tenure.Incarnation)
	wire.Big(c, &m.Tenure.Lapses)
	since := m.Since != 0
	if c.Flags(&m.Founder, &m.Serves, &m.Kept, &since); since {
		if wire.Big(c, &m.Since); m.Since == 0 {
			c.Refuse("member %v is there since no view", m.ID)
		}
	}
	codeText(&m.Name, c)
	codeText(&m.Address, c)
	codeText(&m.HTTP, c)
}

func codeElectorate(e *election.Electorate, c *wire.Coder) {
	codeHead(&e.Epoch, &e.Number, c)
	wire.ListFunc(c, &e.Voters, 8, maxPlaces, func(id *protocol.ID, c *wire.Coder) { wire.Big(c, id) })
}

func codeHead(epoch *protocol.Epoch, number *uint64, c *wire.Coder) {
	wire.Big(c, &epoch.Counter)
	wire.Big(c, &epoch.Candidate)
	wire.Big(c, number)
}

// codeText encodes or decodes a text of any length.
func codeText(text *string, c *wire.Coder) { wire.TextUpTo(c, text, math.MaxInt) }

func codePledges(p *election.Pledges, c *wire.Coder) {
	wire.Enum(c, &p.Top, protocol.MaxReach)
	wire.Enum(c, &p.Durable, protocol.MaxReach)
	wire.ListFunc(c, &p.Of, 4*8+1, maxPlaces, func(q *election.Pledge, c *wire.Coder) {
		wire.Big(c, &q.ID)
		wire.Big(c, &q.Tenure.Incarnation)
		wire.Big(c, &q.Tenure.Lapses)
		wire.Big(c, &q.Version)
		wire.Enum(c, &q.Reach, protocol.MaxReach)
	})
	if p.Empty() {
		c.Refuse("its pledges are none")
	}
}

// content verifies the checksum and returns the bytes that it covers.
func content(b []byte) ([]byte, error) {
	body, sum := b[:len(b)-checksumBytes], binary.BigEndian.Uint64(b[len(b)-checksumBytes:])
	if checksum(body) != sum {
		return nil, fmt.Errorf("checksum %016x does not match the content's %016x, of %d bytes", sum, checksum(body), len(body))
	}
	return body, nil
}

// checksum returns FNV-1a: it detects damage, not tampering.
func checksum(b []byte) uint64 {
	sum := uint64(14695981039346656037)
	for _, c := range b {
		sum = (sum ^ uint64(c)) * 1099511628211
	}
	return sum
}
