package claim

import (
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Holding on (Options.HoldOn): a released cell stays with the process for a while, as if a client held it, and goes to
// the next of its own clients without a write. It is therefore as safe as a hold: believed in for the lease, from the
// sending of the write that the cell shows.
//
// The cell names the last of a block of tokens, and each grant takes the next one of the block. A process that takes
// over the cell of a crashed one therefore continues above all tokens that the crashed one can have given. A released
// cell names the last given token.
//
// The process learns of other waiters at its next write, because their flag is in the cell. It writes when HoldOn has
// passed, or the block is used up: no grant, however frequent, delays that. If the cell was used in the meantime it is
// then rewritten along with its grants, as a hold is renewed; but only a limited number of times, so that processes
// that do not wait find the name free at times.

// What HoldOn may be.
const (
	leastHoldOn = time.Millisecond
	mostHoldOn  = time.Second
	holdOnShare = 10 // of an expiry
)

// blockOfTokens is the number of grants for which a cell that may be kept is taken. The first token of a cell is the
// time in microseconds: the part of a block that a crashed process leaves unused is far less than the time until the
// cell is taken over, so tokens stay lower than the time.
const blockOfTokens = 4096

// mostKept is the maximum number of cells that a process keeps in one space. A further one is released at once.
const mostKept = 16384

// backTogether is how many times within HoldOn cells are released, so that cells taken at about the same time are
// released together: for stores many writes at a time are cheaper than single ones.
const backTogether = 16

// mostTurns is how often a cell is rewritten while no client has it. Then it is released, however often it is used.
const mostTurns = 7

// tokens are those of our cell's block, which ends with the token in the cell.
type tokens struct{ first, offer uint64 }

// spent is an empty block.
func spent(last uint64) tokens { return tokens{last, last + 1} }

// give returns the token of the next grant.
func (t *tokens) give() holdfast.Token {
	t.offer++
	return holdfast.Token(t.offer - 1)
}

// block returns the number of tokens for which a cell is taken.
func (m *Machine) block() uint64 {
	if m.config.HoldOn == 0 || protocol.Mutated("a cell names the last token that it is kept for") {
		return 1
	}
	return blockOfTokens
}

// last returns the highest token of a cell that any client can have. If the cell was taken and no client got it, that
// is still the first one of the block: no contents of a cell recur.
func (m *Machine) last(n *name) uint64 {
	k := &n.cell
	if !m.ours(k) {
		return max(k.token, uint64(max(0, n.former.token)))
	}
	return max(k.first, k.offer-1)
}

// hold sets until when a cell is kept.
type hold struct {
	until   protocol.Time // 0: it is not
	written protocol.Time // when the write was sent that it was had by
	late    bool          // it was kept until it began to be given back

	used      bool // it was granted again since it was last written
	turns     int  // how often it was rewritten since it was taken
	rewriting bool // it is being so
}

func (h *hold) kept() bool { return h.until != 0 }

// endOfKeeping returns until when a cell written at a time may be kept; Never if that has passed.
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
		m.ours(k) && k.flags == 0 && !k.says() && k.tokensLeft() && k.request == 0 && !k.unsure && !k.freeing
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

// keepOn continues to keep a rewritten cell. If the write took longer than the cell may be kept, it is due at once.
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
	slices.SortFunc(kept, byText)
	for _, n := range kept {
		m.letGo(&n.cell)
		n.cell.freeing = true
		m.touch(n)
	}
}

// keeps reports whether a cell is kept, and answers the requests that have released it. When its time has come it is
// rewritten if it was used, or released.
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

// regrant gives a kept cell to the next client, under the next token. It is held by the write that the cell shows.
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
