package session

import (
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// refuseUnknown says that a session has ended. One that was dismissed has not, and its client asks again elsewhere.
func (m *Desk) refuseUnknown(call protocol.CallID, s lock.SessionID, request uint64, name string, out *protocol.Effects) {
	if !m.isSuperseded(call.Sink) {
		m.refuse(call, s, request, name, ErrUnknown, out)
	}
}

// It is kept out of line: what it builds is large, and it is rare.
//
//go:noinline
func (m *Desk) refuse(call protocol.CallID, s lock.SessionID, request uint64, name string, err error, out *protocol.Effects) {
	out.Decide(call, &lock.Decision{Kind: lock.Refused, Session: s, Request: request, Name: name, Err: err})
}
