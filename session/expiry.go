package session

import "github.com/holdfast-locks/holdfast/protocol"

// expiryQueue orders sessions by the time at which something of theirs may have ended.
// Whoever takes one looks whether it was renewed since.
type expiryQueue = protocol.Reminders[sessionNumber]

// sessionNumber is the number of a session of this member.
type sessionNumber uint64

// Before orders by the opening of the sessions.
func (n sessionNumber) Before(other sessionNumber) bool { return n < other }
