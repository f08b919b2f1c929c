package probe

import "github.com/holdfast-locks/holdfast/protocol"

// Transfers is for the coverage of a protocol whose authority moves.
type Transfers interface {
	// Step returns the step of a transfer that a message is; 0 if it is none.
	Step(message any) TransferStep
	// Becoming reports whether a space's member has asked to become the authority, or was named, and neither has the
	// table yet nor knows that there is none.
	Becoming(space protocol.Machine) bool
	// Unused returns how many of a member's kept grants no client uses.
	Unused(space protocol.Machine) int
	// RecallIn reports whether a message recalls a kept grant of the space's member, and that member's state of it.
	RecallIn(space protocol.Machine, message any) Keeping
	// Places reports whether a note says that the authority lets another member replace it, by its own decision.
	Places(note protocol.Note) bool
}

// TransferStep is a step of a transfer: the message that it is made by.
type TransferStep uint8

// The steps of a transfer, in their order.
const (
	StepInvite  TransferStep = iota + 1 // a member is asked to become the authority
	StepBecome                          // it asks to be named
	StepDepose                          // the one before must stop
	StepDeposed                         // and confirms it
	StepNamed                           // the asker learns that it is named, and which member has the table
	StepRequest                         // it asks for the table
	StepTable                           // and gets a part of it
	StepLast                            // the last part
	// Steps is the number of steps plus one.
	Steps
)

// Keeping is a member's state of a grant that it may keep.
type Keeping uint8

// What a member has of a grant.
const (
	KeepsNothing Keeping = iota // or not with the permission to keep it
	KeepsUnused                 // no client uses it
	KeepsUsed                   // a client does; it will be kept when that has released it
)
