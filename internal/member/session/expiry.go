package session

import (
	"cmp"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// expiryQueue orders sessions by the time at which something of theirs may end. The code that takes one checks whether
// it was renewed since.
type expiryQueue = protocol.Reminders[sessionKey]

// sessionKey identifies a session, of this member or of another one.
type sessionKey lock.SessionID

// Before orders sessions by their opening, member by member.
func (k sessionKey) Before(other sessionKey) bool {
	return compareIDs(lock.SessionID(k), lock.SessionID(other)) < 0
}

// compareIDs orders sessions by their opening, member by member.
func compareIDs(a, b lock.SessionID) int {
	return cmp.Or(cmp.Compare(a.Member, b.Member), cmp.Compare(a.Number, b.Number))
}
