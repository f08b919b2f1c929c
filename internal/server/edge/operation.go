package edge

import (
	"cmp"
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// perform turns one operation into a call, or refuses it.
func (m *Machine) perform(op *schema.Operation) {
	id, out := op.GetId(), m.out
	switch kind := op.GetKind().(type) {
	case *schema.Operation_Acquire:
		m.acquire(id, kind.Acquire)
	case *schema.Operation_Release:
		r := kind.Release
		if space := m.locate(CallRelease, id, r.GetSpace(), r.GetName()); space != nil {
			out.releases = append(out.releases, protocol.Release{
				Session: m.session, Name: r.GetName(), Token: holdfast.Token(r.GetToken()), Request: id, Awaited: !r.GetLazy(),
			})
			m.call(space.Port, m.number(CallRelease), &out.releases[len(out.releases)-1])
		}
	case *schema.Operation_Cancel:
		c := kind.Cancel
		if space := m.locate(CallCancel, id, c.GetSpace(), c.GetName()); space != nil {
			out.cancels = append(out.cancels, protocol.Cancel{Session: m.session, Name: c.GetName(), Request: id})
			m.call(space.Port, m.number(CallCancel), &out.cancels[len(out.cancels)-1])
		}
	case *schema.Operation_Extend:
		m.extend(id, kind.Extend)
	case *schema.Operation_Amend:
		m.amend(id, kind.Amend)
	case *schema.Operation_Beat:
		m.beat(id, kind.Beat)
	case *schema.Operation_End:
		if err := checkID(id); err != nil {
			m.refuse(CallEnd, id, "", "", err)
			return
		}
		m.call(protocol.Below, callBit|id, &session.End{ID: m.session, Proven: true})
		out.Over = true
	case *schema.Operation_Hello:
		m.bad(CallUnknown, id, "hello: a stream has one, and it is the first operation")
	default:
		m.bad(CallUnknown, id, "an operation without a kind that this server knows")
	}
}

// number returns the number of the next call about a request.
func (m *Machine) number(call Call) uint64 {
	m.calls++
	return NumberOf(call, m.calls)
}

// call adds a call to the step of the frame.
func (m *Machine) call(port protocol.Port, number uint64, fact any) {
	m.out.Calls = append(m.out.Calls, protocol.Event{
		Kind: protocol.Call, Port: port, Fact: fact, Call: protocol.CallID{Sink: m.sink, Op: number},
	})
}

// locate checks the id, space and name of an operation. It returns nil after refusing the operation.
func (m *Machine) locate(call Call, id uint64, spaceName, name string) *Space {
	space, err := m.config.Space(spaceName)
	switch {
	case id == 0 || id > MaxID:
		err = badID(id)
	case err == nil:
		check := m.config.CheckName
		if call != CallRequest { // the name was checked when it was requested, perhaps by an older version
			check = lock.CheckKnown
		}
		err = check(name)
	}
	if err != nil {
		m.refuse(call, id, spaceName, name, err)
		return nil
	}
	return space
}

// acquire requests a lock. Its wait limit counts from the arrival of the frame.
func (m *Machine) acquire(id uint64, a *schema.Acquire) {
	space := m.locate(CallRequest, id, a.GetSpace(), a.GetName())
	if space == nil {
		return
	}
	attributes, err := checkAcquire(a, space)
	if err == nil && id > m.before {
		err = m.config.CheckValue(attributes.Value)
	}
	if err == nil && id > m.before { // what the client may wait for already is not refused now
		err = m.mayLock(space.Name, a.GetName())
	}
	if err == nil && id > m.before {
		err = m.overload
	}
	if err != nil {
		m.refuse(CallRequest, id, space.Name, a.GetName(), err)
		return
	}
	m.out.requests = append(m.out.requests, lock.Request{
		Session:    m.session,
		ID:         id,
		Name:       a.GetName(),
		Attributes: attributes,
		Client:     m.client,
		Try:        a.GetTry(),
		Arrived:    m.now,
		WaitEnd:    waitEnd(m.now, a),
	})
	m.call(space.Port, id, &m.out.requests[len(m.out.requests)-1])
}

// mayLock returns why the caller may not lock a name.
func (m *Machine) mayLock(space, name string) error {
	if m.caller.Permit == nil {
		return nil
	}
	return m.caller.Permit.Lock(space, name)
}

// checkAcquire returns an acquire's attributes of the lock, or what is wrong with it.
func checkAcquire(a *schema.Acquire, space *Space) (holdfast.Attributes, error) {
	attributes, err := api.FromAttributes(a, time.Duration(a.GetHold()))
	if err != nil {
		return attributes, err
	}
	class, err := api.FromClass(a.GetRequire())
	if err != nil {
		return attributes, err
	}
	r := holdfast.Request{Name: a.GetName(), Attributes: attributes, Wait: time.Duration(a.GetWait())}
	if err := r.Check(); err != nil {
		return attributes, api.BadRequest(err)
	}
	if class > space.Class {
		return attributes, fmt.Errorf("%w: %v is required, and the space offers %v", holdfast.ErrClass, class, space.Class)
	}
	return attributes, nil
}

// tryWait is the default time that a try waits for an authority.
const tryWait = 5 * time.Second

// waitEnd returns when the wait of an acquire that arrived at arrived ends. Without a limit that is never, for a
// request that waits for holders.
func waitEnd(arrived protocol.Time, a *schema.Acquire) protocol.Time {
	switch wait := time.Duration(a.GetWait()); {
	case wait > 0:
		return lock.After(arrived, wait)
	case a.GetTry():
		return lock.After(arrived, tryWait)
	default:
		return protocol.Never
	}
}

func (m *Machine) extend(id uint64, e *schema.Extend) {
	space := m.locate(CallExtend, id, e.GetSpace(), e.GetName())
	if space == nil {
		return
	}
	if e.GetHold() < 0 {
		err := api.Fail(api.CodeBadRequest, fmt.Sprintf("hold %v: want 0 (no limit) or more", time.Duration(e.GetHold())))
		m.refuse(CallExtend, id, space.Name, e.GetName(), err)
		return
	}
	m.call(space.Port, m.number(CallExtend), &protocol.Extend{
		Session: m.session, Name: e.GetName(), Token: holdfast.Token(e.GetToken()), Request: id, Hold: time.Duration(e.GetHold()),
	})
}

// amend replaces the value of a grant.
func (m *Machine) amend(id uint64, a *schema.Amend) {
	space := m.locate(CallAmend, id, a.GetSpace(), a.GetName())
	if space == nil {
		return
	}
	amendment := lock.Amendment{Revision: a.GetRevision(), Value: a.GetValue()}
	if err := cmp.Or(api.BadRequest(amendment.Check()), m.config.CheckValue(amendment.Value)); err != nil {
		m.refuse(CallAmend, id, space.Name, a.GetName(), err)
		return
	}
	m.call(space.Port, m.number(CallAmend), &protocol.Amend{
		Session: m.session, Name: a.GetName(), Token: holdfast.Token(a.GetToken()), Request: id, Amendment: amendment,
	})
}

func (m *Machine) beat(id uint64, b *schema.Beat) {
	ttl := time.Duration(b.GetTtl())
	if err := cmp.Or(checkID(id), CheckTTL(ttl)); err != nil {
		m.refuse(CallBeat, id, "", "", err)
		return
	}
	if ttl > 0 && ttl != m.wanted {
		m.wanted, m.out.wanted = ttl, ttl
	}
	m.call(protocol.Below, callBit|id, &session.Renew{ID: m.session, Proven: true, TTL: m.wanted, Arrived: m.now})
}
