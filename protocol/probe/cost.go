package probe

import "github.com/holdfast-locks/holdfast"

// Deed is an action of users whose messages are counted.
type Deed uint8

// The deeds.
const (
	// CycleAtCoordinator: a user at the deciding member, which in most protocols is the view's coordinator, takes a
	// free name and releases it at once.
	CycleAtCoordinator Deed = iota
	// CycleElsewhere: a user at another member does so.
	CycleElsewhere
	// HandOver: a user at a member that does not decide holds a name when a user at another such member requests it.
	// The first releases it, and so does the second, after its grant.
	HandOver
	// TryRefused: a user at a member that does not decide tries to take a name that a user at the deciding one holds,
	// and is refused.
	TryRefused
	// Become: an operator at a member that does not coordinate makes that member the authority, in place of another
	// such member.
	Become
	// Deeds is the number of operations.
	Deeds
)

var deedNames = [Deeds]string{
	"lock and unlock at the coordinator", "lock and unlock at another member", "hand-over between two other members", "refused try-lock at another member",
	"transfer to another member",
}

// String names the action.
func (d Deed) String() string { return deedNames[d] }

// Cost is the number of messages between spaces that an operation takes.
type Cost struct {
	Deed Deed
	// Shape is how the name is locked. Zero means exclusively.
	holdfast.Shape
	// Least and Most are the minimum and maximum number of messages of one operation.
	Least, Most int
	// Tail is the maximum number of messages that come once, after the last of several operations in a row: those that
	// usually ride on other messages, and find none.
	Tail int
	// Formula is how that was published.
	Formula string
}
