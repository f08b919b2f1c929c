package edge

import (
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Config is shared by the edges of all streams of a member. Its functions do not block, and are safe for concurrent
// use.
type Config struct {
	// Space returns the space of that name; "" is the default one. The error refuses the operation.
	Space func(name string) (*Space, error)
	// SpaceAt returns the space at a port, or nil.
	SpaceAt func(protocol.Port) *Space
	// CheckName returns what is wrong with the name of a requested lock here.
	CheckName func(name string) error
	// CheckValue returns what is wrong with the length of a grant's value here.
	CheckValue func(value string) error
	// Identity returns the names of the member and of its cluster.
	Identity func() (member, cluster string)
	// Explain turns an error about a held name into a message for people.
	Explain func(error) error
	// Durable names the spaces that write each decision to disks.
	Durable []string
	// Events and Bytes bound the unread answers of one client, and All those of all clients together.
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
	// MaxOperations is the maximum number of operations performed in a frame; further ones are refused.
	MaxOperations = 65_536
	// maxStep is the maximum number of operations in one step. Longer frames are split, so that no frame keeps the
	// member from serving others for long: it takes about a fifth of a millisecond.
	maxStep = 256
)

// Machine is the inbound half of a stream's edge.
type Machine struct {
	config *Config

	now      protocol.Time // arrival of the frame in the current Step
	out      *Effects
	overload error // refuses new work in this Step
	// revision is that of the current operation, if it is an amendment. Its refusal names it, as every answer does: the
	// client has perhaps asked for another value since.
	revision uint64

	greeting *greeting // nil before the hello, and once the client is greeted
	greeted  bool
	caller   Caller
	client   string // its name
	session  lock.SessionID
	sink     uint64

	calls  uint64        // numbered so far
	before uint64        // the latest request that the client may have made on another stream: requests up to it may be in a queue
	wanted time.Duration // the last ttl that its client requested; 0 for none
}

// New returns the inbound half of a stream's edge.
func New(config *Config) Machine { return Machine{config: config} }

// Step handles one event of a frame that arrived at now, and fills in the effects.
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

// onFrame handles operations of a frame, in order. An invalid one is refused and does not affect the others.
func (m *Machine) onFrame(ev *Event) {
	operations := ev.Operations[:min(len(ev.Operations), maxStep)]
	m.out.grow(len(operations))
	for i, operation := range operations {
		m.out.Taken++
		m.revision = operation.GetAmend().GetRevision()
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

// targetOf returns an operation's kind of call and its lock.
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
	case *schema.Operation_Amend:
		return CallAmend, kind.Amend.GetSpace(), kind.Amend.GetName()
	case *schema.Operation_Beat:
		return CallBeat, "", ""
	case *schema.Operation_End:
		return CallEnd, "", ""
	}
	return CallUnknown, "", ""
}

// refuse refuses one operation.
func (m *Machine) refuse(call Call, id uint64, space, name string, err error) {
	m.out.Says = append(m.out.Says, Outgoing{
		saying: call.refusal(), call: call, id: id, revision: m.revision, err: &holdfast.Error{Space: clip(space), Name: clip(name), Err: err},
	})
}

// bad refuses a malformed operation.
func (m *Machine) bad(call Call, id uint64, what string) {
	m.refuse(call, id, "", "", api.Fail(api.CodeBadRequest, what))
}
