package session

import "github.com/holdfast-locks/holdfast/internal/api/schema"

// Amending is a call for an amendment of a grant.
type Amending struct {
	Caller any // its maker's own data

	value    string
	revision uint64
	unsent   bool      // the present stream does not have it
	before   *Amending // an unanswered call that this one has replaced, and that ends with it
}

// askAmend requests an amendment of the grant of r. The amendments of a session are numbered together, since its requests
// may hold one grant.
func (m *Machine) askAmend(r *Request, wanted *Amending, value string) {
	m.revisions++
	wanted.value, wanted.revision, wanted.unsent, wanted.before = value, m.revisions, true, r.amend
	r.amend = wanted
	m.push(sendAmend, r)
}

// finishAmend ends the call for an amendment, with those that it has replaced.
func (m *Machine) finishAmend(r *Request, err error) {
	for one := r.amend; one != nil; one = one.before {
		m.out.add(Effect{Kind: AnswerAmend, Request: r, Err: err, Detail: &Detail{Amending: one}})
	}
	r.amend = nil
}

// finishChanges ends the calls for changes of the grant of r.
func (m *Machine) finishChanges(r *Request, err error) {
	m.finishExtend(r, err)
	m.finishAmend(r, err)
}

// amended records the sending of an amendment, and returns its message.
func (m *Machine) amended(r *Request) *schema.Amend {
	r.amend.unsent = false
	return &schema.Amend{Space: r.Space, Name: r.Want.Name, Token: uint64(r.token), Revision: r.amend.revision, Value: r.amend.value}
}

// onAmended handles the answer to an amendment. A higher revision than this client has given is from an earlier client of
// the session: this one is the later, so it asks again.
func (m *Machine) onAmended(r *Request, answer *schema.Amended) {
	revision, problem := answer.GetRevision(), answer.GetProblem()
	if isGone(problem) {
		m.lose()
		return
	}
	if r.state != Held || r.amend == nil || r.amend.unsent || revision < r.amend.revision {
		return // an answer to an earlier one
	}
	switch {
	case problem != nil:
		m.finishAmend(r, reason(problem))
	case revision > m.revisions:
		m.revisions = revision + 1
		r.amend.revision, r.amend.unsent = m.revisions, true
		m.push(sendAmend, r)
	default:
		m.finishAmend(r, nil)
	}
}
