package probe

import "github.com/holdfast-locks/holdfast/protocol"

// Transfers is what coverage must know of a protocol whose authority moves.
type Transfers interface {
	// Step reads off a message which step of a transfer it is; 0 where it is none.
	Step(message any) TransferStep
	// Becoming reads off a space whether its member has asked to be made the authority, or
	// was named, and has not the table yet; nor knows that there is none.
	Becoming(space protocol.Machine) bool
	// Unused reads off a space how many grants its member keeps that no client uses.
	Unused(space protocol.Machine) int
	// RecallIn reads off a message whether it asks the member of the space to give way, and what
	// that member has of what is asked for.
	RecallIn(space protocol.Machine, message any) Keeping
	// Places reads off a note that the authority lets another member become it, of its own accord.
	Places(note protocol.Note) bool
}

// TransferStep is a step of a transfer: the message that it is made by.
type TransferStep uint8

// The steps of a transfer, in their order.
const (
	StepInvite  TransferStep = iota + 1 // a member is asked to become the authority
	StepBecome                          // it asks to be named
	StepDepose                          // the one before must stop
	StepDeposed                         // and says that it has
	StepNamed                           // the asker learns that it is named, and who has the table
	StepRequest                         // it asks for the table
	StepTable                           // and gets a part of it
	StepLast                            // the last part
	// Steps is one more than there are.
	Steps
)

// Keeping is what a member has of a grant that it may keep.
type Keeping uint8

// What a member has of a grant.
const (
	KeepsNothing Keeping = iota // or not with the permission to keep it
	KeepsUnused                 // no client uses it
	KeepsUsed                   // a client does; it will be kept when that has released it
)
