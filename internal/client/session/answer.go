package session

import "github.com/holdfast-locks/holdfast"

// onAnswer takes what a member says.
func (m *Machine) onAnswer(ev *Event) {
	r := m.requests[ev.ID]
	switch {
	case ev.Kind == Beaten:
		m.onBeaten(ev)
	case ev.Kind == Refused:
		m.onRefused(r, ev)
	case ev.Kind == Released && ev.ID != 0 && ev.ID == m.endID:
		m.onEnded()
	case r != nil:
		m.onOwn(r, ev)
	}
}

// onOwn takes what only a request of this client can be told.
func (m *Machine) onOwn(r *Request, ev *Event) {
	switch ev.Kind {
	case Granted:
		m.onGranted(r, ev)
	case Queued:
		if r.state == Requested {
			r.waiting = ev.Position >= 0 // before that its member looks for the authority
			m.out.add(Effect{Kind: TellQueued, Request: r, Position: ev.Position})
		}
	case Lost:
		m.onLost(r, ev)
	case LostBefore:
		if r.state == Held {
			m.out.of(End, r, ev.Why)
		}
	case Released:
		m.onReleased(r, ev)
	case Extended:
		m.onExtended(r, ev.Span)
	}
}

// onGranted makes the lock. A grant that the call no longer waits for is undone by
// the cancel or the release that is under way.
func (m *Machine) onGranted(r *Request, ev *Event) {
	if r.state != Requested || r.unsent {
		return
	}
	holdEnd := holdfast.Forever
	if ev.Span > 0 {
		holdEnd = After(r.sent, ev.Span)
	}
	if r.bound.token == ev.Token {
		holdEnd = min(holdEnd, r.bound.end)
	}
	if r.limit.token == ev.Token {
		holdEnd = min(holdEnd, After(r.sent, r.limit.hold))
	} else {
		r.limit = limit{}
	}
	m.alarms.Stop(&r.guard)
	r.state, r.waiting, r.holdEnd, r.grace, r.token = Held, false, holdEnd, ev.Grace, ev.Token
	if holdEnd != holdfast.Forever {
		m.armHoldEnd(r)
	}
	m.out.of(Hold, r, nil)
}

// onLost ends a lock, then says that it has stopped if the authority waits for that.
func (m *Machine) onLost(r *Request, ev *Event) {
	if ev.Why == holdfast.SessionExpired {
		m.lose()
		return
	}
	switch r.state {
	case Requested:
		// Its grant was not told, or not in time, and has ended. The acquire may have been
		// sent again since and be granted anew, and then no caller would hold the grant:
		// so the acquire is cancelled, which releases any grant that it has.
		m.out.of(Fail, r, ev.Why)
		m.cancel(r)
	case Held:
		m.out.of(End, r, ev.Why)
		m.finishExtend(r, ev.Why)
		if !ev.MustRelease {
			m.settle(r)
			return
		}
		m.concede(r)
	case Ended:
		if !ev.MustRelease {
			m.settle(r)
		}
	case Releasing:
		r.loss = ev.Why // its answer is still to come
	}
}

// onReleased takes the answer to a release or to a cancel.
func (m *Machine) onReleased(r *Request, ev *Event) {
	switch {
	case ev.Verdict == Gone:
		m.lose()
	case ev.Verdict == TooMuch && (r.state == Releasing || r.state == Cancelling):
		m.sayLater(r)
	case r.state == Releasing:
		r.refused = ev.Err != nil
		if ev.Err != nil && !r.quiet {
			m.refusedRelease(r, ev)
		}
		m.settle(r)
	case r.state == Cancelling:
		m.settle(r)
	}
}

// sayLater sends a release or a cancel again that was refused because this client has asked
// for too much at once: what it gives back would stay taken otherwise.
func (m *Machine) sayLater(r *Request) {
	kind := SendRelease
	if r.state == Cancelling {
		kind = SendCancel
	}
	r.guard.Ring = func() { m.push(kind, r) }
	m.alarms.Set(&r.guard, m.now+LaterPause)
}

// refusedRelease tells why a release was refused. That a release which was sent
// twice is of something not held means that its first copy has acted: had the lock
// been lost, the authority would have told that before.
func (m *Machine) refusedRelease(r *Request, ev *Event) {
	switch {
	case r.loss != "":
		m.out.of(FailRelease, r, r.loss)
	case r.copies == 1 || ev.Verdict != NotHeld:
		m.out.of(FailRelease, r, ev.Err)
	}
}

// onRefused takes a refusal of the request or other operation that the id names.
func (m *Machine) onRefused(r *Request, ev *Event) {
	switch {
	case ev.Verdict == Gone:
		m.lose()
	case ev.ID != 0 && ev.ID == m.endID:
		m.onEnded()
	case r == nil:
		m.out.add(Effect{Kind: Unmatched, ID: ev.ID, Err: ev.Err})
	case r.state == Requested:
		r.refused = true
		m.out.of(Fail, r, ev.Err)
		m.settle(r)
	case r.behind:
		m.onExtendRefused(r, ev.Err)
	default:
		m.onReleased(r, ev)
	}
}
