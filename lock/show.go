package lock

import (
	"strings"

	"github.com/holdfast-locks/holdfast"
)

// decision returns a Decision of a kind about entry i.
func (t *Table) decision(kind Kind, i int32) (d Decision) {
	t.decide(&d, kind, t.entries.at(i))
	return d
}

// decide is decision in place. A Decision is large, so the frequent ones are not copied.
func (t *Table) decide(d *Decision, kind Kind, s *entry) {
	d.Kind, d.Request, d.Mode, d.Token = kind, s.request, s.mode, s.token
	d.Session = t.sessions.at(s.session).id
	d.Client = t.client(s)
	d.Name = t.names.at(s.live).name
	if s.detail != 0 {
		detail := t.details.at(s.detail)
		d.Owner, d.Reason, d.Units, d.Capacity = detail.Owner, detail.Reason, detail.Units, detail.Capacity
		d.Value, d.Revision = detail.Value, detail.Revision
	}
	if s.token != 0 {
		d.Since = s.since
	}
}

// room appends an empty decision, to be filled in.
func room(out *[]Decision) *Decision {
	*out = append(*out, Decision{})
	return &(*out)[len(*out)-1]
}

// refusal refuses the waiter at entry i with err.
func (t *Table) refusal(now Time, i int32, err error) Decision {
	d := t.decision(Refused, i)
	d.Waited, d.Err = max(0, now-t.entries.at(i).since), err
	return d
}

// granted reports to the holder at entry i what it holds. Its hold limit counts from when the holder sent the request,
// which was before its arrival: it is the time that remained then, on the fastest clock.
func (t *Table) granted(now Time, i int32, arrived Time, out *[]Decision) {
	s := t.entries.at(i)
	d := room(out)
	t.decide(d, Granted, s)
	d.Waited = max(0, now-arrived)
	if end := t.end(s); end != Never {
		// A passed limit is still a limit, and 0 would mean none.
		d.Hold = max(1, t.drift.shrink(end-arrived))
	}
}

func (t *Table) queued(i int32) Decision {
	d := t.decision(Queued, i)
	d.Position = t.position(i)
	return d
}

func (t *Table) revocation(i int32, why holdfast.Loss) Decision {
	d := t.decision(Revoked, i)
	d.Loss = why
	return d
}

// Held reports whether session s holds name under token. A grant that is to end is held until its holder confirms that
// it has stopped.
func (t *Table) Held(s SessionID, name string, token holdfast.Token) bool {
	return t.findHold(s, name, token, 0) != 0
}

// Knows reports whether a request of session s holds name or waits for it.
func (t *Table) Knows(s SessionID, name string, request uint64) bool {
	e, n := t.liveOf(name), t.sessionOf(s)
	return e != 0 && n != 0 && t.findRequest(e, n, request) != 0
}

// Standing returns the current decision about a request that holds name or waits for it: Granted, Revoked if the grant
// is to end, or Queued. It reports whether the request does either.
func (t *Table) Standing(s SessionID, name string, request uint64) (d Decision, known bool) {
	e, n := t.liveOf(name), t.sessionOf(s)
	if e == 0 || n == 0 {
		return d, false
	}
	i := t.findRequest(e, n, request)
	if i == 0 {
		return d, false
	}
	switch entry := t.entries.at(i); {
	case entry.token == 0:
		return t.queued(i), true
	case entry.revoked:
		return t.revocation(i, losses[entry.why]), true
	}
	return t.decision(Granted, i), true
}

// Show returns the full state of one name, with its latest ended grants (at most 16, as far as the table remembers). A
// free name has no holders and no waiters. The holders and waiters of [SpaceLock] are the suspensions; a request that
// is parked because of one waits at its own name, after the unparked ones.
func (t *Table) Show(name string) Lock {
	shown := Lock{Name: name}
	if e := t.liveOf(name); e != 0 {
		shown = t.view(e)
	}
	shown.History = t.history.of(name)
	return shown
}

// Scan visits the live names that begin with prefix and come after the name after, in byte order: at most limit of them
// but at least one, and no more once visit returns false. It reports whether more names follow the last visited one. It
// omits History, and [SpaceLock], which is not a name. Its cost depends on the visited names and not on the number of
// names. A name that is live throughout a listing, each part of which continues after the last name of the previous
// one, is visited exactly once, regardless of changes to the table between the parts. visit must not change the table.
func (t *Table) Scan(after, prefix string, limit int, visit func(Lock) bool) (more bool) {
	b, i := t.seek(max(after, prefix))
	going := true
	for left := max(limit, 1); b < len(t.order.blocks); b, i = b+1, 0 {
		for _, e := range t.order.blocks[b][i:] {
			x := t.names.at(e)
			switch {
			case x.idle() || x.name <= after:
			case !strings.HasPrefix(x.name, prefix):
				return false
			case left == 0 || !going:
				return true
			default:
				left--
				going = visit(t.view(e))
			}
		}
	}
	return false
}

// view copies live name e.
func (t *Table) view(e int32) Lock {
	x := t.names.at(e)
	v := Lock{Name: x.name}
	first := t.firstOf(e, x)
	v.Mode = t.entries.at(first).mode
	v.Capacity = int(t.capacity(t.entries.at(first)))
	detail := int32(0) // of the previous hold
	for i := x.holders; i != 0; i = t.next(ofEntry, x.holders, i) {
		if s := t.entries.at(i); detail == 0 || s.detail != detail {
			v.Holders = append(v.Holders, t.viewGrant(i))
			v.Token = s.token
			v.Units += int(t.units(s))
			detail = s.detail
		}
	}
	for i := x.queue; i != 0; i = t.next(ofEntry, x.queue, i) {
		v.Waiters = append(v.Waiters, t.viewWait(i))
	}
	lane, _ := t.lane(e)
	for i := lane; i != 0; i = t.next(ofEntry, lane, i) {
		v.Waiters = append(v.Waiters, t.viewWait(i))
	}
	return v
}

// viewGrant copies the grant of entry i.
func (t *Table) viewGrant(i int32) (g Grant) {
	t.copyGrant(&g, t.entries.at(i))
	return g
}

// copyGrant is viewGrant in place.
func (t *Table) copyGrant(g *Grant, s *entry) {
	session := t.sessions.at(s.session)
	*g = Grant{
		Session: session.id, Attributes: t.attributes(s), Client: session.client, Token: s.token, Since: s.since, Until: Never, Holds: 1, Revoked: s.revoked,
	}
	if s.detail != 0 {
		d := t.details.at(s.detail)
		g.Client, g.Until, g.Holds = t.client(s), d.end, int(d.holds)
	}
}

// viewWait copies the waiter at entry i.
func (t *Table) viewWait(i int32) Wait {
	s := t.entries.at(i)
	return Wait{
		Session:    t.sessions.at(s.session).id,
		Attributes: t.attributes(s),
		Client:     t.client(s),
		Request:    s.request,
		Since:      s.since,
		Until:      t.end(s),
	}
}
