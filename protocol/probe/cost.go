package probe

import "github.com/holdfast-locks/holdfast"

// Deed is an action of users whose messages are counted.
type Deed uint8

// The deeds.
const (
	// CycleAtCoordinator: a user at the member that decides, which in most protocols is the
	// view's coordinator, takes a free name, and gives it back at once.
	CycleAtCoordinator Deed = iota
	// CycleElsewhere: a user at another member does so.
	CycleElsewhere
	// HandOver: a user at one member that does not decide holds a name when a user at
	// another such member asks for it. The first gives it back, and the second, who is
	// granted it, too.
	HandOver
	// TryRefused: a user at a member that does not decide tries to take a name that one
	// at the one that decides holds, and is refused.
	TryRefused
	// Become: an operator at a member that does not coordinate makes that one the authority,
	// in the place of another such member.
	Become
	// Deeds is how many there are.
	Deeds
)

var deedNames = [Deeds]string{
	"lock and unlock at the coordinator", "lock and unlock at another member", "hand-over between two other members", "refused try-lock at another member",
	"transfer to another member",
}

// String names the action.
func (d Deed) String() string { return deedNames[d] }

// Cost is how many messages between spaces a deed takes.
type Cost struct {
	Deed Deed
	// Shape is how the name is locked. Zero means exclusively.
	holdfast.Shape
	// Least and Most are how many messages one deed takes at least and at most.
	Least, Most int
	// Tail is how many come once, after the last of several in a row, and no more than that:
	// what rides on other messages, and finds none to ride on.
	Tail int
	// Formula is how that was published.
	Formula string
}
