package claim

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Holding on (Options.HoldOn): a cell that was released stays with the process for a while, as if
// a client held it, and goes to the next of its own clients without a write. So it is as safe as
// what is held: believed in for the lease, from when the write was sent that the cell shows.
//
// The cell names the last of a block of tokens, and each grant takes the next one of the block. So a
// process that takes over the cell of a crashed one goes on above all that the crashed one can have
// given. A cell that is given back names the last that was given.
//
// Of others who wait the process learns when it writes next, because their flag is in the cell. It does
// so when HoldOn has passed, or the block is used up: no grant, however often the name is wanted
// here, puts that off. What was used meanwhile is written anew then, in addition to its grants, as what is held is
// renewed; but not for ever, so that those who do not wait find the name free at times.

// What HoldOn may be.
const (
	leastHoldOn = time.Millisecond
	mostHoldOn  = time.Second
	holdOnShare = 10 // of an expiry
)

// blockOfTokens is for how many grants a cell is taken that may be kept. The first token of a cell is
// the time in microseconds: what a process that crashes leaves unused of a block is far less than the
// time until the cell is taken over, so tokens go on being lower than the time.
const blockOfTokens = 4096

// mostKept is how many cells a process keeps in one space. One more is given back at once.
const mostKept = 16384

// backTogether is how many times within HoldOn cells are given back, so that those which were taken at about
// the same time are so together: stores take many writes at a time for less than each by itself.
const backTogether = 16

// mostTurns is how often a cell is written anew while no client has it. Then it is given back,
// however often it is used.
const mostTurns = 7

// tokens are those of a cell that is ours: of its block, which ends with the one that it shows.
type tokens struct{ first, offer uint64 }

// spent is a block of which nothing is left.
func spent(last uint64) tokens { return tokens{last, last + 1} }

// give returns the token of the next grant.
func (t *tokens) give() holdfast.Token {
	t.offer++
	return holdfast.Token(t.offer - 1)
}

// block is how many tokens a cell is taken for.
func (m *Machine) block() uint64 {
	if m.config.HoldOn == 0 || protocol.Mutated("a cell names the last token that it is kept for") {
		return 1
	}
	return blockOfTokens
}

// last is the highest token of a cell that any client can have. Where the cell was taken and no
// client got it, that is the first one of the block all the same: no content of a cell comes twice.
func (m *Machine) last(n *name) uint64 {
	k := &n.cell
	if !m.ours(k) {
		return max(k.token, uint64(max(0, n.former.token)))
	}
	return max(k.first, k.offer-1)
}

// hold says until when a cell is kept.
type hold struct {
	until   protocol.Time // 0: it is not
	written protocol.Time // when the write was sent that it was had by
	late    bool          // it was kept until it began to be given back

	used      bool // it was granted again since it was last written
	turns     int  // how often it was written anew since it was taken
	rewriting bool // it is being so
}

func (h *hold) kept() bool { return h.until != 0 }

// endOfKeeping is until when a cell may be kept that was written at a time; Never where that has come.
func (m *Machine) endOfKeeping(written protocol.Time) protocol.Time {
	if m.config.HoldOn == 0 {
		return protocol.Never
	}
	until := written + m.config.HoldOn
	if until -= until % (m.config.HoldOn / backTogether); until <= m.now {
		return protocol.Never
	}
	return until
}

// mayKeep reports whether a cell is kept that was held by c until now.
func (m *Machine) mayKeep(now protocol.Time, k *cell, c *claim) bool {
	return m.config.HoldOn != 0 && m.endOfKeeping(c.sentAt) != protocol.Never && m.holding.kept < mostKept && m.serves() && !m.clients.Closed() &&
		m.ours(k) && k.flags&waitedFor == 0 && k.tokensLeft() && k.request == 0 && !k.unsure && !k.freeing
}

// tokensLeft reports whether the block has another token.
func (c *cell) tokensLeft() bool {
	return c.offer <= c.token || protocol.Mutated("a cell names the last token that it is kept for")
}

// keepCell keeps it: it is free for this process's clients, and for no others.
func (m *Machine) keepCell(k *cell, written protocol.Time) {
	k.until, k.written, k.late = m.endOfKeeping(written), written, false
	m.holding.kept++
}

// keepOn goes on with keeping a cell that was written anew. Where that took longer than it may be kept, it is
// due at once.
func (m *Machine) keepOn(k *cell) {
	m.keepCell(k, k.sentAt)
	if k.until == protocol.Never {
		k.until = m.now
	}
	k.used = false
}

// letGo keeps a cell no longer: it is held, or written.
func (m *Machine) letGo(k *cell) {
	if k.kept() {
		k.until = 0
		m.holding.kept--
	}
}

// letAllGo has all cells given back that are kept: this process stops to serve.
func (m *Machine) letAllGo() {
	if m.holding.kept == 0 {
		return
	}
	var kept []*name
	//tidy:unordered they are put in order
	for _, n := range m.names {
		if n.cell.kept() {
			kept = append(kept, n)
		}
	}
	slices.SortFunc(kept, func(a, b *name) int { return cmp.Compare(a.text, b.text) })
	for _, n := range kept {
		m.letGo(&n.cell)
		n.cell.freeing = true
		m.touch(n)
	}
}

// keeps reports whether a cell is kept, and says so to the requests that have released it. When its
// time has come it is written anew where it was used, or given back.
func (m *Machine) keeps(now protocol.Time, n *name, out *protocol.Effects) bool {
	k := &n.cell
	if !k.kept() {
		return k.rewriting && k.request != 0
	}
	m.notifyFreed(n, out)
	if now < k.until && m.serves() {
		return true
	}
	if k.used && k.turns < mostTurns && k.tokensLeft() && m.serves() {
		next := k.content
		next.renewals++
		m.swap(now, n, nil, next, out)
		k.rewriting, k.late = true, true
		k.turns++
		m.holding.rewritten++
		return true
	}
	m.letGo(k)
	k.freeing, k.late = true, true
	return false
}

// regrant gives what is kept to the next client, under the next token. It is held by the write that
// the cell shows.
func (m *Machine) regrant(now protocol.Time, n *name, c *claim, out *protocol.Effects) {
	k := &n.cell
	m.letGo(k)
	m.notifyFreed(n, out)
	m.holding.regranted++
	k.used = true
	c.sentAt, c.stamp, c.end = k.written, int64(k.token), k.written+m.config.Expiry
	m.won(now, c, k.give(), out)
}

// yielded counts a cell that others have waited for, when it was given back.
func (m *Machine) yielded(k *cell) {
	if k.late {
		m.holding.yielded++
	}
}
