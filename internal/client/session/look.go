package session

import (
	"time"

	"github.com/holdfast-locks/holdfast/internal/api"
)

// Session returns the present session, nil while there is none.
func (m *Machine) Session() *Session { return m.session }

// Request returns an unsettled request, or nil.
func (m *Machine) Request(id uint64) *Request { return m.requests[id] }

// Connected reports whether there is a stream.
func (m *Machine) Connected() bool { return m.stream != nil }

// Doubted reports whether the stream has not answered in time.
func (m *Machine) Doubted() bool { return m.doubted }

// Begun reports whether the first hello was answered, or no session is possible.
func (m *Machine) Begun() bool { return m.begun }

// Last returns the address that has answered last.
func (m *Machine) Last() api.Address { return m.cluster.last }

// Known lists the addresses that may be contacted.
func (m *Machine) Known() []api.Address { return m.known() }

// Searched reports whether the search for members is over.
func (m *Machine) Searched() bool { return m.search.phase == ended }

// Asking returns the number of contacts under way.
func (m *Machine) Asking() int { return len(m.search.under) }

// Closing reports whether Close was received.
func (m *Machine) Closing() bool { return m.closing }

// Taken returns the reason why no further session is wanted: another client has taken the last one over. Otherwise it
// is nil.
func (m *Machine) Taken() error { return m.taken }

// Unsent counts the acquires that were not sent on any stream yet.
func (m *Machine) Unsent() int { return m.unsent }

// Releases counts the requested releases that are not acknowledged.
func (m *Machine) Releases() int { return m.releases }

// Requests lists the unsettled requests, in the order of their ids.
func (m *Machine) Requests() []*Request { return m.all() }

// BeatAt returns when the next heartbeat is due.
func (m *Machine) BeatAt() time.Duration { return m.beat.At() }

// LateAt returns when the acknowledgement counts as late.
func (m *Machine) LateAt() time.Duration { return m.late.At() }

// Sending reports whether there is anything to send, moot items included.
func (m *Machine) Sending() bool { return m.head < len(m.queue) }

// HasToFree reports whether the session's end would free names.
func (m *Machine) HasToFree() bool {
	//tidy:unordered any of them will do
	for _, r := range m.requests {
		if r.state == Held || r.state == Ended || r.state == Releasing {
			return true
		}
	}
	return false
}
