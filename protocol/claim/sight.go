package claim

import (
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/storage"
)

// A store has no log of its changes. An observer of a lock looks at the lock's row from time to time, and compares two
// looks: tokens and revisions tell whether there may have been another state between them.
//
//	cell    tokens count the grants, so the next grant has the next token; a free cell has the last one
//	claims  tokens are times, so they tell nothing; but each release changes the mark of the row, and a mark that is the
//	        claim of the last holder was left by that one's release

// Look is what is read in one look at a row.
type Look struct {
	Entries []storage.Entry // of Options.Selection
	Micros  int64           // the wall time of the selection, in microseconds
	// Begun and Done are when the read began and was done, on one clock that never goes back.
	Begun, Done time.Duration
	// Ended reports whether a process has ended, if the store knows such ends.
	Ended func(rid string) (bool, error)
}

// Sight is what a look shows. The zero Sight, at a time, is that of a row in which nothing was ever locked.
type Sight struct {
	At time.Duration // Look.Begun
	// Held reports that the lock has a holder: not one whose claim has expired, whose process has ended, or whose lock an
	// operator has broken. The oldest claim is one when it has stood for the wait: from then on no older one appears.
	Held bool
	RID  string // the holder's process, and further down what there is of its grant
	// Token is the token of the grant. Of a cell that a process keeps for its own users (HoldOn) it is the first of those
	// that the process can have given since.
	Token    holdfast.Token
	Since    time.Time
	Value    string
	Revision uint64
	Waiters  []Waiter
	// Due is how long after the look the oldest claim is a hold; 0 if there is no such claim.
	Due time.Duration

	taken bool // the row says that RID holds, whether or not it still counts
	mark  mark // of claims: the row's
	left  int64
	cell  string // with CAS
	steady
	block bool // the cell names the last of a block of tokens
}

// steady is since when something in the row has been as it is.
type steady struct {
	rid   string // claims: the oldest one, which is no hold yet
	token holdfast.Token
	since time.Duration
}

// See returns what a look shows after an earlier one, which is nil at first. The error is that of Look.Ended.
func (o *Options) See(l *Look, before *Sight) (*Sight, error) {
	if before == nil {
		before = &Sight{}
	}
	if o.CAS {
		return o.seeCell(l, before)
	}
	return o.seeClaims(l, before)
}

// seeCell is See for a cell.
func (o *Options) seeCell(l *Look, before *Sight) (*Sight, error) {
	s := &Sight{At: l.Begun, cell: CellOf(l.Entries)}
	c, is := decodeCell(s.cell)
	switch {
	case !is:
		s.cell = ""
		return s, nil
	case !c.held:
		s.Token = holdfast.Token(c.token)
		return s, nil
	}
	state := c.state()
	s.taken, s.RID, s.Since, s.Value, s.Revision, s.Waiters = true, state.RID, state.Since, state.Value, state.Revision, state.Waiters
	s.Token, s.block = state.Token, o.isBlock(&c, before)
	if s.block {
		s.Token -= min(s.Token, blockOfTokens-1)
	}
	s.since = l.Done
	if SameHold(s.cell, before.cell) {
		s.since = before.since
	}
	ended, err := l.Ended(s.RID)
	s.Held = !ended && !state.Breaking && l.Begun-s.since <= state.Over()
	return s, err
}

// isBlock reports whether a held cell names the last of a block of tokens, as it does at a process with HoldOn. A cell
// does not say so: the step from the last one does. At first sight it is assumed of others if this process does so.
func (o *Options) isBlock(c *content, before *Sight) bool {
	was, known := decodeCell(before.cell)
	switch {
	case !known:
		return o.HoldOn != 0
	case before.taken && was.rid == c.rid && (was.token == c.token || before.block):
		return before.block
	}
	return c.token >= was.token+blockOfTokens
}

// seeClaims is See for claims.
func (o *Options) seeClaims(l *Look, before *Sight) (*Sight, error) {
	all, m := o.claimants(l.Entries, o.cutoff(l.Micros))
	s := &Sight{At: l.Begun, mark: m}
	var failure error
	all = slices.DeleteFunc(all, func(p claimant) bool {
		ended, err := l.Ended(p.rid)
		if err != nil {
			failure = err
		}
		return ended
	})
	// A claim that is late may stand before the one that was granted.
	holder := slices.IndexFunc(all, func(p claimant) bool {
		return before.taken && p.rid == before.RID && holdfast.Token(p.says.token) == before.Token
	})
	if holder < 0 && len(all) > 0 && o.stands(l, &all[0], before, s) {
		holder = 0
	}
	for i := range all {
		p := &all[i]
		if i != holder {
			s.Waiters = append(s.Waiters, Waiter{p.rid, o.timeOf(p.first)})
			continue
		}
		s.taken, s.Held, s.left = true, p.broken < int64(p.says.token), p.written
		s.RID, s.Token, s.Since = p.rid, holdfast.Token(p.says.token), o.timeOf(int64(p.says.token))
		s.Value, s.Revision = shownValue(p.says.value), p.says.revision
	}
	return s, failure
}

// stands reports whether the oldest claim of a row counts as a hold: it has stood for the wait, by the wall clock or, as
// that may differ from the one that dates claims, by how long it was seen; and no higher token was released, or it would
// be written anew before the grant.
func (o *Options) stands(l *Look, p *claimant, before, s *Sight) bool {
	token := holdfast.Token(p.says.token)
	s.steady = steady{p.rid, token, l.Done}
	if before.rid == p.rid && before.token == token {
		s.since = before.since
	}
	if s.mark.stamp > p.last || s.mark.stamp == p.last && s.mark.by != p.rid {
		return false
	}
	left := min(o.timeOf(int64(token)).Add(o.Wait).Sub(time.UnixMicro(l.Micros)), s.since+o.Wait-l.Begun)
	s.Due = max(0, left)
	return left <= 0
}

// Missed reports whether the row may have shown another grant, the end of one, or another value between two looks. What
// leaves no trace is not reported: with CAS a value that was set just before the end, and any waiter. Nor are the
// grants of one process within the time for which it keeps a cell.
func (o *Options) Missed(before, now *Sight) bool {
	if before.taken && now.taken && before.RID == now.RID && before.Token == now.Token {
		return now.Revision != before.Revision && now.Revision != before.Revision+1
	}
	if now.taken && now.Revision != 0 {
		return true
	}
	if !o.CAS {
		released := before.taken && now.mark == mark{before.left, before.RID}
		// A claim that has expired leaves no mark.
		return now.mark != before.mark && !released || now.At-before.At > o.Expiry
	}
	next := before.Token
	if now.taken {
		next++
	}
	switch {
	case before.cell == "":
		return now.cell != "" && !now.taken
	case now.cell == "":
		return true
	}
	return now.Token != next
}
