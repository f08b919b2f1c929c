package lock

import (
	"errors"
	"fmt"
)

// Restore adds the chunks of a snapshot, in order, to a new table, which then continues like the original. The error
// says what is wrong with a chunk: discard the table then. Limits of Config are not applied to restored entries. Until
// the last chunk is in, the table is incomplete and must not be used.
func (t *Table) Restore(now Time, c Chunk) error {
	if c.From == 0 && (t.reign != 0 || t.entries.used != 0 || t.paused) {
		return errors.New("restore lock table: it is not a new one")
	}
	if c.From != t.restored {
		return fmt.Errorf("restore lock table: the chunk from %d comes where that from %d is due", c.From, t.restored)
	}
	if c.Reign > MaxReign || c.Count > MaxCount || c.From != 0 && (c.Reign != t.reign || c.Count != t.count) {
		return fmt.Errorf("restore lock table: reign %d with count %d, after reign %d with count %d", c.Reign, c.Count, t.reign, t.count)
	}
	t.reign, t.count, t.last, t.paused = c.Reign, c.Count, Token(c.Reign, c.Count), c.Paused
	for n := range c.Entries {
		if err := t.restoreEntry(now, &c.Entries[n]); err != nil {
			return fmt.Errorf("restore lock table: request %d of session %v at %q: %w", c.Entries[n].Request, c.Entries[n].Session, c.Entries[n].Name, err)
		}
	}
	t.restored = c.Next
	if t.restored == 0 && t.gate != nil {
		if err := t.restoreGate(); err != nil {
			return fmt.Errorf("restore lock table: %w", err)
		}
	}
	return nil
}

// restoreEntry adds one entry, which follows the restored ones of the same name.
func (t *Table) restoreEntry(now Time, c *Entry) error {
	r := Request{
		Session: c.Session, ID: c.Request, Name: c.Name, Attributes: c.Attributes, Client: c.Client, Arrived: now - c.Age,
	}
	held, excess, err := t.checkEntry(c, &r)
	if err != nil {
		return err
	}
	e := t.liveOf(c.Name)
	if e == 0 {
		e = t.enter(c.Name, t.byName[c.Name])
	}
	i := t.sit(e, &r)
	if held != 0 {
		t.share(held, i)
		return nil
	}
	end := Never
	if c.Left != Never {
		end = after(now, c.Left)
	}
	if c.Token == 0 {
		t.describe(i, &r, end)
		t.restoreWait(i, c)
		if excess {
			t.crowds.at(t.names.at(e).crowd).excess = true
		}
		t.recountMarked(e)
		return nil
	}
	s := t.entries.at(i)
	s.token, s.revoked = c.Token, c.Revoked
	// The deadline's order depends on the token, so the detail comes after it.
	t.describe(i, &r, end)
	t.admitFrom(i, excess)
	return nil
}

// checkEntry returns why an entry cannot be restored, or an entry of the grant it shares: 0 if it is a new grant or a
// wait; and whether the name has an excess with it.
func (t *Table) checkEntry(c *Entry, r *Request) (mate int32, excess bool, err error) {
	if err := malformed(r); err != nil {
		return 0, false, err
	}
	e, s := t.liveOf(c.Name), t.sessionOf(c.Session)
	if e != 0 && s != 0 && t.findRequest(e, s, c.Request) != 0 {
		return 0, false, errors.New("it is there already")
	}
	if err := checkTurn(c); err != nil {
		return 0, false, err
	}
	if c.Token == 0 {
		if c.Revoked {
			return 0, false, errors.New("it waits and is revoked")
		}
		other := t.otherCapacity(e, c.Mode, c.Capacity)
		if other != nil && t.fixed(e) {
			return 0, false, other
		}
		return 0, other != nil, nil
	}
	if c.Try {
		return 0, false, errors.New("it is held and waits for an authority")
	}
	if c.Token > t.last || c.Hold != 0 {
		return 0, false, fmt.Errorf("token %d with a wanted hold limit of %v, in a table whose last token is %d", c.Token, c.Hold, t.last)
	}
	if e == 0 {
		return 0, false, nil
	}
	return t.checkHold(e, s, c)
}

// checkHold is checkEntry for a hold of a name that already has entries.
func (t *Table) checkHold(e, session int32, c *Entry) (mate int32, excess bool, err error) {
	x := t.names.at(e)
	if lane, _ := t.lane(e); x.queue != 0 || lane != 0 || x.holders == 0 {
		return 0, false, errors.New("it is held and follows a waiter")
	}
	latest := t.entries.at(x.holders).links[ofEntry].prev
	l := t.entries.at(latest)
	if c.Token < l.token {
		return 0, false, fmt.Errorf("token %d follows token %d", c.Token, l.token)
	}
	if session == 0 || t.findToken(e, session, c.Token) == 0 {
		excess, err = t.checkPlace(e, session, c)
		return 0, excess, err
	}
	if l.session != session || c.Owner == "" || t.owner(l) != c.Owner || l.revoked != c.Revoked {
		return 0, false, fmt.Errorf("token %d belongs to another owner", c.Token)
	}
	return latest, false, t.otherShape(l, c.Mode, c.Units, c.Capacity)
}
