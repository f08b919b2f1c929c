package lock

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// Adopt adds a hold that another table has granted, as reported by its holder, until end by this clock. It is for an
// authority that succeeds another and relies on the holders' reports. Holds may come in any order; the limits of Config
// are not applied. The hold limit is that of the grant, and each holder knows only the limit it was given: of several
// holds of one grant the latest end counts, and the value of the latest revision.
//
// If c is Revoked it is to end: it joins the holders of the name, and while they are not all compatible, the name
// accepts no other. Otherwise it is accepted if it is compatible with the holders that are not revoked.
//
// A suspension and another owner's holds also conflict, unless one of them is revoked: the later one is an ErrConflict.
// When a suspension is adopted, revoked or not, all waiters at names are parked, except its owner's, before all that
// already wait in the gate. An adoption lets no request through the gate; the next Resume, or the next end, does that.
//
// The error is an ErrConflict if c does not fit, if its owner has another grant of the name, or if c is a hold of an
// existing grant and revoked differently; then nothing has changed. Any other error says why c is impossible: its token
// is above all that this reign follows, its request already exists, or it is malformed.
func (t *Table) Adopt(now Time, c *Entry, end Time) error {
	r := Request{
		Session: c.Session, ID: c.Request, Name: c.Name, Attributes: c.Attributes, Client: c.Client, Arrived: now - c.Age,
	}
	r.Hold = 0 // it is held: its end counts
	mate, excess, err := t.checkAdoption(c, &r)
	if err != nil {
		return err
	}
	e := t.liveOf(c.Name)
	if e == 0 {
		e = t.enter(c.Name, t.byName[c.Name])
	}
	i := t.sit(e, &r)
	if mate != 0 {
		t.share(mate, i)
		at := t.entries.at(mate)
		if end > t.end(at) {
			t.setDeadline(at.detail, end)
		}
		if d := t.details.at(at.detail); c.Revision > d.Revision {
			d.Revision, d.Value = c.Revision, c.Value
		}
		return nil
	}
	s := t.entries.at(i)
	s.token, s.revoked = c.Token, c.Revoked
	t.describe(i, &r, end)
	t.admitFrom(i, excess)
	if c.Name == SpaceLock {
		t.bar()
	}
	return nil
}

// AdoptRevoked is Adopt for a hold that no longer fits: it is to end with reason why, and is Revoked.
func (t *Table) AdoptRevoked(now Time, c *Entry, end Time, why holdfast.Loss, out *[]Decision) error {
	loser := *c
	loser.Revoked = true
	if err := t.Adopt(now, &loser, end); err != nil {
		return err
	}
	i := t.findRequest(t.liveOf(c.Name), t.sessionOf(c.Session), c.Request)
	t.entries.at(i).why = uint8(max(0, slices.Index(losses[:], why)))
	*out = append(*out, t.revocation(i, why))
	return nil
}

// checkAdoption returns why c cannot be adopted, or an entry of the grant it shares; and whether the name has an excess
// with it.
func (t *Table) checkAdoption(c *Entry, r *Request) (mate int32, excess bool, err error) {
	if err := malformed(r); err != nil {
		// Not an ErrConflict: it does not conflict with a holder.
		return 0, false, fmt.Errorf("adopt %q: %v", c.Name, err)
	}
	if c.Token == 0 || c.Token > t.last {
		return 0, false, fmt.Errorf("adopt %q: token %d, where the highest so far is %d", c.Name, c.Token, t.last)
	}
	e, session := t.liveOf(c.Name), t.sessionOf(c.Session)
	if e == 0 {
		return 0, false, t.contradicts(c)
	}
	if session != 0 {
		if t.findRequest(e, session, c.Request) != 0 {
			return 0, false, errors.New("adopt: it is there already")
		}
		if mate := t.findToken(e, session, c.Token); mate != 0 {
			s := t.entries.at(mate)
			if c.Owner == "" || t.owner(s) != c.Owner || s.revoked != c.Revoked {
				return 0, false, fmt.Errorf("%w: token %d belongs to another owner", holdfast.ErrConflict, c.Token)
			}
			return mate, false, t.otherShape(s, c.Mode, c.Units, c.Capacity)
		}
	}
	if err := t.contradicts(c); err != nil {
		return 0, false, err
	}
	excess, err = t.checkPlace(e, session, c)
	return 0, excess, err
}

// checkPlace returns why a grant that is new to this table cannot have a place at live name e; excess reports whether
// the name has an excess with it.
func (t *Table) checkPlace(e, session int32, c *Entry) (excess bool, err error) {
	other := t.otherCapacity(e, c.Mode, c.Capacity)
	fits := other == nil && t.fits(t.names.at(e), c.Mode, int32(c.Units))
	switch {
	case c.Revoked:
		return !fits, nil
	case other != nil && t.fixed(e):
		return false, other
	}
	if !fits {
		if staying := t.staying(e); !staying.leaves(c.Mode, c.Units, c.Capacity) {
			return false, fmt.Errorf("%w: it is not compatible with the holders", holdfast.ErrConflict)
		}
	}
	if c.Owner != "" && session != 0 && t.findOwner(e, session, c.Owner) != 0 {
		return false, fmt.Errorf("%w: its owner holds it already", holdfast.ErrConflict)
	}
	return !fits, nil
}

// admitFrom adds entry i, whose token another table has given, to the holders of its live name; excess reports whether
// the name has an excess with it.
func (t *Table) admitFrom(i int32, excess bool) {
	s := t.entries.at(i)
	x := t.names.at(s.live)
	if excess {
		t.crowds.at(x.crowd).excess = true
	}
	t.admit(i, s, x)
	t.moveUp(x, i)
	t.recountMarked(s.live)
	t.unsearched = true
}

// moveUp moves entry i, the last of its live name's holders, before those with higher tokens.
func (t *Table) moveUp(x *record, i int32) {
	token := t.entries.at(i).token
	at := i
	for at != x.holders {
		before := t.entries.at(at).links[ofEntry].prev
		if t.entries.at(before).token <= token {
			break
		}
		at = before
	}
	if at == i {
		return
	}
	first := at == x.holders
	t.unlink(ofEntry, &x.holders, i, t.entries.at(i))
	t.follow(ofEntry, t.entries.at(at).links[ofEntry].prev, i)
	if first {
		x.holders = i
	}
}

// EndWhere ends every hold and wait that match selects, with reason why: waits are Refused, holds Lost; then the next
// ones are granted. They end in the order of their sessions, and within a session as by EndSession. token is 0 for a
// wait.
func (t *Table) EndWhere(now Time, why holdfast.Loss, match func(name string, s SessionID, request uint64, token holdfast.Token) bool, out *[]Decision) {
	var ended []int32
	for i := int32(1); i <= t.entries.top; i++ {
		s := t.entries.at(i)
		if s.session != 0 && match(t.names.at(s.live).name, t.sessions.at(s.session).id, s.request, s.token) {
			ended = append(ended, i)
		}
	}
	slices.SortFunc(ended, func(a, b int32) int {
		x, y := t.entries.at(a), t.entries.at(b)
		p, q := t.sessions.at(x.session).id, t.sessions.at(y.session).id
		return cmp.Or(
			cmp.Compare(p.Member, q.Member),
			cmp.Compare(p.Number, q.Number),
			cmp.Compare(min(x.token, 1), min(y.token, 1)),
			cmp.Compare(x.request, y.request),
			cmp.Compare(t.names.at(x.live).name, t.names.at(y.live).name),
		)
	})
	for _, i := range ended {
		d := t.decision(Lost, i)
		d.Loss = why
		if d.Token == 0 {
			d = t.refusal(now, i, why)
		}
		*out = append(*out, d)
		t.touch(t.entries.at(i).live)
		t.endEntry(now, i)
	}
	t.settleTouched(now, out)
}

// Prolong is Extend for an authority whose messages may arrive late, twice and out of order: the limit never becomes
// shorter. A holder whose own shorter limit has passed releases the grant. The hold is that of the request.
func (t *Table) Prolong(now Time, s SessionID, name string, token holdfast.Token, request uint64, hold time.Duration) error {
	i := t.findHold(s, name, token, request)
	if i != 0 && hold > 0 {
		if end := t.end(t.entries.at(i)); end > now && end >= after(now, t.drift.stretch(hold)) && !t.entries.at(i).revoked {
			return nil
		}
	}
	return t.extend(now, i, hold)
}

// After returns t + d, or Never if that overflows.
func After(t Time, d time.Duration) Time { return after(t, d) }

// Check returns an error if no honest edge lets the request through.
func (r *Request) Check() error { return malformed(r) }

// Count returns the number of tokens that the reign has given, including its initial count.
func (t *Table) Count() uint32 { return t.count }
