package session

import (
	"time"

	"github.com/holdfast-locks/holdfast/internal/api"
)

// Session returns the present session, nil while there is none.
func (m *Machine) Session() *Session { return m.session }

// Request returns a request that is not settled, or nil.
func (m *Machine) Request(id uint64) *Request { return m.requests[id] }

// Connected reports whether there is a stream.
func (m *Machine) Connected() bool { return m.stream != nil }

// Doubted reports whether the stream has not answered in time.
func (m *Machine) Doubted() bool { return m.doubted }

// Begun reports whether the first hello was answered, or no session can be had.
func (m *Machine) Begun() bool { return m.begun }

// Last returns the address that has answered last.
func (m *Machine) Last() api.Address { return m.cluster.last }

// Known lists the addresses that may be gone to.
func (m *Machine) Known() []api.Address { return m.known() }

// Searched reports whether no member is looked for any more.
func (m *Machine) Searched() bool { return m.search.phase == ended }

// Asking counts the addresses that are asked.
func (m *Machine) Asking() int { return len(m.search.under) }

// Closing reports whether Close has come.
func (m *Machine) Closing() bool { return m.closing }

// Taken says why no further session is wanted: another client has taken the last one over. It is nil otherwise.
func (m *Machine) Taken() error { return m.taken }

// Unsent counts the acquires that no stream has taken yet.
func (m *Machine) Unsent() int { return m.unsent }

// Releases counts the releases that a caller has asked for and that are not acknowledged.
func (m *Machine) Releases() int { return m.releases }

// Requests lists the requests that are not settled, in the order of their ids.
func (m *Machine) Requests() []*Request { return m.all() }

// BeatAt returns when the next heartbeat is due.
func (m *Machine) BeatAt() time.Duration { return m.beat.At() }

// LateAt returns when an acknowledgement is missed.
func (m *Machine) LateAt() time.Duration { return m.late.At() }

// Sending reports whether there is anything to send. What has become moot counts.
func (m *Machine) Sending() bool { return m.head < len(m.queue) }

// HasToFree reports whether the session has names that its end would free.
func (m *Machine) HasToFree() bool {
	//tidy:unordered any of them will do
	for _, r := range m.requests {
		if r.state == Held || r.state == Ended || r.state == Releasing {
			return true
		}
	}
	return false
}
