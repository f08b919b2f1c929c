package edge

import (
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Config is what the edges of a member's streams have in common. Its functions answer at once, and any goroutine may call them.
type Config struct {
	// Space returns the space of that name; "" is the default one. The error refuses what is asked of it.
	Space func(name string) (*Space, error)
	// SpaceAt returns the space at a port, or nil.
	SpaceAt func(protocol.Port) *Space
	// CheckName says what is wrong with a lock's name here.
	CheckName func(name string) error
	// Identity returns the names of the member and of its cluster.
	Identity func() (member, cluster string)
	// Explain makes a message for people of an error about a name that is held.
	Explain func(error) error
	// Durable names the spaces that write each decision to disks.
	Durable []string
	// Events and Bytes bound what may wait for one client to read it, and All what all clients together leave unread.
	Events, Bytes int
	All           *Together
}

// Space describes a space to the edge.
type Space struct {
	Name  string
	Port  protocol.Port
	Class holdfast.Class
	Grace bool // names stay taken for a while after a hold limit
}

func (c *Config) spaceName(port protocol.Port) string {
	if space := c.SpaceAt(port); space != nil {
		return space.Name
	}
	return ""
}

const (
	// MaxOperations is how many operations of a frame are performed; those behind are
	// refused.
	MaxOperations = 65_536
	// maxStep is how many operations are stepped in one go. Longer frames are cut, so
	// that no frame keeps the member from serving others for long.
	maxStep = 4_096
)

// Machine is the inbound half of a stream's edge.
type Machine struct {
	config *Config

	now      protocol.Time // at which the frame arrived of the Step that is under way
	out      *Effects
	overload error // refuses new work in this Step

	greeting *greeting // nil before the hello, and once the client is greeted
	greeted  bool
	caller   Caller
	client   string // its name
	session  lock.SessionID
	sink     uint64

	calls  uint64        // numbered so far
	before uint64        // the latest request that the client may have made on another stream: up to it they may stand in a queue
	wanted time.Duration // the ttl that its client has asked for last; 0 where it asks for none
}

// New makes the inbound half of a stream's edge.
func New(config *Config) Machine { return Machine{config: config} }

// Step takes one event of a frame that arrived at the time now, and fills in what to do about it.
func (m *Machine) Step(now protocol.Time, ev *Event, out *Effects) {
	m.now, m.out, m.overload = now, out, ev.Overload
	switch {
	case m.greeted:
		m.onFrame(ev)
	case ev.Err != nil:
		m.refuseHello(ev.Err)
	case m.greeting != nil:
		m.onAnswer(m.greeting, ev.Answer)
	case len(ev.Operations) > 0:
		m.caller, out.Taken = ev.Caller, 1
		m.onHello(ev.Operations[0])
	}
	m.out = nil
}

// onFrame takes operations of a frame, in their order. What cannot be done is refused and disturbs nothing else.
func (m *Machine) onFrame(ev *Event) {
	operations := ev.Operations[:min(len(ev.Operations), maxStep)]
	m.out.grow(len(operations))
	for i, operation := range operations {
		m.out.Taken++
		switch {
		case ev.Before+i >= MaxOperations:
			m.refuse(CallUnknown, operation.GetId(), "", "", &holdfast.LimitError{Limit: "operations_per_frame", Value: MaxOperations})
		case !ev.Allowance.admits(operation):
			call, space, name := targetOf(operation)
			m.refuse(call, operation.GetId(), space, name, ev.Allowance.Refusal)
		default:
			if m.perform(operation); m.out.Over {
				return
			}
		}
	}
}

// targetOf tells what an operation asks for, and of which lock.
func targetOf(operation *schema.Operation) (call Call, space, name string) {
	switch kind := operation.GetKind().(type) {
	case *schema.Operation_Acquire:
		return CallRequest, kind.Acquire.GetSpace(), kind.Acquire.GetName()
	case *schema.Operation_Release:
		return CallRelease, kind.Release.GetSpace(), kind.Release.GetName()
	case *schema.Operation_Cancel:
		return CallCancel, kind.Cancel.GetSpace(), kind.Cancel.GetName()
	case *schema.Operation_Extend:
		return CallExtend, kind.Extend.GetSpace(), kind.Extend.GetName()
	case *schema.Operation_Beat:
		return CallBeat, "", ""
	case *schema.Operation_End:
		return CallEnd, "", ""
	}
	return CallUnknown, "", ""
}

// refuse refuses one operation. A release or cancel is answered by
// the event that answers those, so that no client takes it for a word about the
// request itself.
func (m *Machine) refuse(call Call, id uint64, space, name string, err error) {
	as := sayRefused
	if call.endsHold() {
		as = sayReleased
	}
	m.out.Says = append(m.out.Says, Outgoing{saying: as, call: call, id: id, err: &holdfast.Error{Space: clip(space), Name: clip(name), Err: err}})
}

// bad refuses an operation that is not as it should be.
func (m *Machine) bad(call Call, id uint64, what string) {
	m.refuse(call, id, "", "", api.Fail(api.CodeBadRequest, what))
}
