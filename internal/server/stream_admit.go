package server

import (
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/protocol"
)

// allowance is how many operations of the present frame may still be done, of those that
// ask for something and of those that keep or give back.
type allowance struct{ requests, returns int }

// admit takes the tokens for a frame, all at once.
func (s *stream) admit(operations []*schema.Operation, arrived protocol.Time) {
	if s.owner == nil {
		return
	}
	var wanted allowance
	for _, operation := range operations[:min(len(operations), maxOperations)] {
		*wanted.kind(operation)++
	}
	s.allowance.requests, s.allowance.returns = s.owner.admit(arrived, wanted.requests, wanted.returns)
}

// kind returns the count to which an operation belongs. What has no kind asks for
// something: for an answer that refuses it.
func (a *allowance) kind(operation *schema.Operation) *int {
	switch operation.GetKind().(type) {
	case *schema.Operation_Release, *schema.Operation_Cancel, *schema.Operation_Beat, *schema.Operation_End:
		return &a.returns
	}
	return &a.requests
}

// admitted reports whether an operation may be done; if not it has been refused.
func (s *stream) admitted(operation *schema.Operation) bool {
	left := s.allowance.kind(operation)
	if *left > 0 {
		*left--
		return true
	}
	kind, space, name := targetOf(operation)
	s.refuse(kind, operation.GetId(), space, name, s.owner.all.refusal())
	return false
}

// targetOf tells what an operation asks for, and of which lock.
func targetOf(operation *schema.Operation) (kind call, space, name string) {
	switch kind := operation.GetKind().(type) {
	case *schema.Operation_Acquire:
		return callRequest, kind.Acquire.GetSpace(), kind.Acquire.GetName()
	case *schema.Operation_Release:
		return callRelease, kind.Release.GetSpace(), kind.Release.GetName()
	case *schema.Operation_Cancel:
		return callCancel, kind.Cancel.GetSpace(), kind.Cancel.GetName()
	case *schema.Operation_Extend:
		return callExtend, kind.Extend.GetSpace(), kind.Extend.GetName()
	case *schema.Operation_Beat:
		return callBeat, "", ""
	case *schema.Operation_End:
		return callEnd, "", ""
	}
	return callUnknown, "", ""
}

// admitHello takes the token of a hello. Who resumes keeps what it has.
func (s *stream) admitHello(resumes bool, arrived protocol.Time) error {
	requests, returns := 1, 0
	if resumes {
		requests, returns = 0, 1
	}
	if !s.owner.admitAll(arrived, requests, returns) {
		return s.owner.all.refusal()
	}
	return nil
}
