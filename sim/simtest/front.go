package simtest

import (
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Front is the users' side of an experimental protocol. It turns all calls of users to a space into requests that are
// wanted or not, and does everything that does not depend on the protocol: waits end, sessions end, holders are
// notified to stop when the authority changes, and the membership learns when no user holds under an earlier one any
// more. So a protocol on a Front need not hand over holds from one authority to the next; a protocol that does so
// cannot use a Front. Hold limits are left to the users that asked for them; every request has its name alone, in any
// mode.
type Front struct {
	// Self is the member's id. Required.
	Self protocol.ID
	// View is the latest view, nil before the first.
	View *protocol.View
	// Wants are the requests of this member's users that wait or hold, in the order of arrival.
	Wants []Want
	// Kept is the number of names that this member has granted as the authority, for an inspection of the space.
	Kept int

	again     protocol.Time
	epoch     uint64
	confirmed uint64
	cleared   []tenancy // those that hold nothing of earlier epochs, by their reports
}

// Want is a request. Its Token is 0 while it waits.
type Want struct {
	lock.Request
	Token holdfast.Token
}

// repeated is the interval at which a protocol on a Front repeats its messages.
const repeated = 50 * time.Millisecond

// Due reports whether it is time to send everything again: every 50 ms once there is a view.
func (f *Front) Due(now protocol.Time) bool {
	if f.View == nil || now < f.again {
		return false
	}
	f.again = now + repeated
	return true
}

// Wake returns the time to send everything again, or the end of the next wait.
func (f *Front) Wake() protocol.Time {
	at := protocol.Never
	if f.View != nil {
		at = f.again
	}
	for i := range f.Wants {
		if f.Wants[i].Token == 0 {
			at = min(at, f.Wants[i].WaitEnd)
		}
	}
	return at
}

// Take takes every event except messages, which it ignores. It reports whether a new reign has begun, which voids all
// grants of an earlier authority.
func (f *Front) Take(now protocol.Time, ev protocol.Event, out *protocol.Effects) (begins bool) {
	switch fact := ev.Fact.(type) {
	case *protocol.View:
		f.View = fact
		if fact.Epoch.Counter > f.epoch {
			f.epoch, f.cleared, begins = fact.Epoch.Counter, nil, true
			f.revoke(holdfast.AuthorityChanged, out, func(*Want) bool { return true })
		}
	case *protocol.Lapsed:
		f.end(out, func(*Want) bool { return true }, lock.Lost, holdfast.MemberLost)
	case *lock.Request:
		f.acquire(fact, out)
	case *protocol.Cancel:
		f.over(out, ev.Call, *fact, 0)
	case *protocol.Release:
		f.over(out, ev.Call, protocol.Cancel{Session: fact.Session, Name: fact.Name, Request: fact.Request}, fact.Token)
	case *protocol.EndSession:
		kind := lock.Lost
		if fact.Why == "" {
			kind = lock.Released
		}
		f.end(out, func(w *Want) bool { return w.Session == fact.Session }, kind, fact.Why)
	case *protocol.Revoke:
		f.revoke(fact.Why, out, func(w *Want) bool { return w.Session == fact.Session })
	default:
		f.answer(now, ev, out)
	}
	f.end(out, func(w *Want) bool { return w.Token == 0 && w.WaitEnd <= now }, lock.Refused, "")
	old := func(w Want) bool { return w.Token != 0 && uint64(w.Token)>>32 < f.epoch }
	if f.confirmed < f.epoch && !slices.ContainsFunc(f.Wants, old) {
		f.confirmed = f.epoch
		out.Raise(&protocol.Confirmed{Epoch: f.epoch})
	}
	return begins
}

// Clear reports whether no user here holds anything of an earlier epoch: the authority must hear that from every member
// before it may grant.
func (f *Front) Clear() bool { return f.confirmed == f.epoch }

// Cleared records that a member has reported to be clear under a tenure.
func (f *Front) Cleared(id protocol.ID, tenure protocol.Tenure) {
	if at := (tenancy{id, tenure}); !slices.Contains(f.cleared, at) {
		f.cleared = append(f.cleared, at)
	}
}

// allClear reports whether every tenure that may hold something is clear.
func (f *Front) allClear(now protocol.Time) bool {
	for _, member := range f.View.Members {
		if !slices.Contains(f.cleared, tenancy{member.ID, member.Tenure}) {
			return false
		}
	}
	return !slices.ContainsFunc(f.View.Dropped, func(d protocol.Dropped) bool {
		return now < d.Free && !slices.Contains(f.cleared, tenancy{d.ID, d.Tenure})
	})
}

// MayGrant reports whether this member is the authority, and no user holds a grant of an earlier one: the members
// present have reported it (Cleared), and the membership waits for others.
func (f *Front) MayGrant(now protocol.Time) bool {
	v := f.View
	return v != nil && v.Coordinator == f.Self && v.Installed && now >= v.GrantFrom &&
		now < min(v.Lease.Role, v.Lease.Member) && v.Lease.Promised <= v.Epoch.Counter && f.allClear(now)
}

// Hears reports whether a member's message under an epoch and a tenure counts here.
func (f *Front) Hears(from protocol.ID, epoch protocol.Epoch, tenure protocol.Tenure) bool {
	if f.View == nil || f.View.Epoch != epoch {
		return false
	}
	at, listed := f.View.Of(from)
	return listed && at.Tenure == tenure
}

// MayTake reports whether this member may take a grant by the authority of an epoch to one of its tenures.
func (f *Front) MayTake(now protocol.Time, epoch protocol.Epoch, tenure protocol.Tenure) bool {
	v := f.View
	return v != nil && v.Epoch == epoch && v.Lease.Tenure == tenure && now < v.Lease.Member && v.Lease.Promised <= epoch.Counter
}

// Gone reports whether a tenure of a member is not in the view, and none of its users can hold anything any more.
func (f *Front) Gone(now protocol.Time, id protocol.ID, tenure protocol.Tenure) bool {
	if at, listed := f.View.Of(id); listed && at.Tenure == tenure {
		return false
	}
	return !slices.ContainsFunc(f.View.Dropped, func(d protocol.Dropped) bool {
		return d.ID == id && d.Tenure == tenure && now < d.Free
	})
}

// Grant reports to the user of a request that it holds its name under a token, once. It returns whether the request
// holds it now; if not, no user wants it any more.
func (f *Front) Grant(session lock.SessionID, id uint64, token holdfast.Token, out *protocol.Effects) bool {
	i := f.find(session, id, "", 0)
	if i < 0 {
		return false
	}
	if w := &f.Wants[i]; w.Token == 0 {
		w.Token = token
		decide(out, protocol.CallID{}, w, lock.Granted, "")
	}
	return f.Wants[i].Token == token
}

// find returns the index of a request: by its id or, if that is 0, by its name and token.
func (f *Front) find(session lock.SessionID, id uint64, name string, token holdfast.Token) int {
	return slices.IndexFunc(f.Wants, func(w Want) bool {
		return w.Session == session && (w.ID == id || id == 0 && token != 0 && w.Token == token && w.Name == name)
	})
}

// acquire enters a request, or repeats its outcome.
func (f *Front) acquire(r *lock.Request, out *protocol.Effects) {
	if i := f.find(r.Session, r.ID, "", 0); i < 0 {
		f.Wants = append(f.Wants, Want{Request: *r})
	} else if w := &f.Wants[i]; w.Token != 0 {
		decide(out, protocol.CallID{}, w, lock.Granted, "")
	}
}

// over ends a request at its user's wish.
func (f *Front) over(out *protocol.Effects, call protocol.CallID, c protocol.Cancel, token holdfast.Token) {
	i := f.find(c.Session, c.Request, c.Name, token)
	if i < 0 {
		w := Want{Request: lock.Request{Session: c.Session, ID: c.Request, Name: c.Name}, Token: token}
		kind := lock.Released
		if token != 0 {
			kind = lock.Refused
		}
		decide(out, call, &w, kind, "")
		return
	}
	w := f.Wants[i]
	f.Wants = slices.Delete(f.Wants, i, i+1)
	decide(out, call, &w, lock.Released, "")
}

// end drops some requests, and reports why: waiting ones are refused.
func (f *Front) end(out *protocol.Effects, some func(*Want) bool, kind lock.Kind, why holdfast.Loss) {
	f.Wants = slices.DeleteFunc(f.Wants, func(w Want) bool {
		if !some(&w) {
			return false
		}
		if w.Token == 0 {
			kind = lock.Refused
		}
		decide(out, protocol.CallID{}, &w, kind, why)
		return true
	})
}

// revoke notifies some holders to stop.
func (f *Front) revoke(why holdfast.Loss, out *protocol.Effects, some func(*Want) bool) {
	for i := range f.Wants {
		if w := &f.Wants[i]; w.Token != 0 && some(w) {
			decide(out, protocol.CallID{}, w, lock.Revoked, why)
		}
	}
}

// tenancy permanently identifies a tenure of a member.
type tenancy struct {
	id     protocol.ID
	tenure protocol.Tenure
}

func decide(out *protocol.Effects, call protocol.CallID, w *Want, kind lock.Kind, why holdfast.Loss) {
	d := lock.Decision{
		Kind: kind, Session: w.Session, Request: w.ID, Name: w.Name, Owner: w.Owner, Shape: w.Shape,
		Token: w.Token, Loss: why,
	}
	if kind == lock.Refused {
		d.Loss, d.Err = "", holdfast.ErrHeld
		if w.Token != 0 {
			d.Err = holdfast.ErrNotHeld
		}
	}
	out.Decide(call, &d)
}

// answer answers questions about the state, and refuses calls that no experimental protocol needs.
func (f *Front) answer(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch fact := ev.Fact.(type) {
	case *protocol.Extend:
		out.Decide(ev.Call, &lock.Decision{Kind: lock.Refused, Session: fact.Session, Request: fact.Request, Name: fact.Name, Token: fact.Token, Err: holdfast.ErrUnsupported})
	case *protocol.Amend:
		d := fact.Refused(holdfast.ErrUnsupported)
		out.Decide(ev.Call, &d)
	case *protocol.CountHolds:
		count := 0
		for i := range f.Wants {
			if f.Wants[i].Session == fact.Session && f.Wants[i].Token != 0 {
				count++
			}
		}
		out.Reply(ev.Call, &protocol.Holds{Count: count})
	case *protocol.ListRequests:
		var list []protocol.RequestOf
		for i := range f.Wants {
			if w := &f.Wants[i]; w.Session == fact.Session {
				list = append(list, protocol.RequestOf{ID: w.ID, Name: w.Name, Token: w.Token})
			}
		}
		slices.SortFunc(list, func(a, b protocol.RequestOf) int { return int(a.ID) - int(b.ID) })
		out.Reply(ev.Call, &protocol.Requests{List: list})
	case *protocol.Inspect:
		condition := protocol.Condition{Why: "it does not coordinate, or not yet", Locks: f.Kept, Waiters: len(f.Wants)}
		if f.MayGrant(now) {
			condition.State, condition.Why = protocol.Ready, ""
		}
		out.Reply(ev.Call, &condition)
	case *protocol.Break:
		out.Reply(ev.Call, &protocol.Broken{Err: holdfast.ErrNotHeld})
	case *protocol.Show, *protocol.Scan:
		out.Reply(ev.Call, &protocol.Unanswered{Err: holdfast.ErrUnsupported})
	}
}
