package claim

import (
	"fmt"

	"github.com/holdfast-locks/holdfast/protocol"
)

// Processes that share a store send each other nothing: their messages to and from it are those of package storage.
// Members of a cluster exchange messages for operators, as in every protocol without an authority (package local).

// The notes.
type (
	// Unrenewed notes that a claim could not be renewed, and its holder gets notice to stop.
	Unrenewed struct {
		Name string
		Err  error // the store's latest failure; nil if others were in the way
	}

	// Broke notes that an operator has broken a lock in the store, and its holder gets notice to stop.
	Broke struct{ Name string }

	// Refused notes that nothing can be locked, because other users of the store have different settings, or because
	// the store does not accept them.
	Refused struct {
		Group string
		Err   error
	}

	// Left notes that claims could not be deleted: they are in others' way until they expire.
	Left struct {
		Name   string
		Claims int
		Err    error
	}
)

func (u Unrenewed) String() string {
	if u.Err == nil {
		return fmt.Sprintf("the claim of %q cannot be renewed because others stand behind it", u.Name)
	}
	return fmt.Sprintf("the claim of %q cannot be renewed: %v", u.Name, u.Err)
}

func (b Broke) String() string {
	return fmt.Sprintf("an operator broke the lock %q in the store", b.Name)
}

func (r Refused) String() string { return r.Err.Error() }

// Log names the claim.
func (u Unrenewed) Log(func(protocol.ID) string) (protocol.Severity, string, []any) {
	return protocol.Warn, u.String(), nil
}

// Log names the claims.
func (l Left) Log(func(protocol.ID) string) (protocol.Severity, string, []any) {
	return protocol.Warn, l.String(), nil
}

// Log names the lock.
func (b Broke) Log(func(protocol.ID) string) (protocol.Severity, string, []any) {
	return protocol.Warn, b.String(), nil
}

// Log gives the reason.
func (r Refused) Log(func(protocol.ID) string) (protocol.Severity, string, []any) {
	return protocol.Error, "nothing can be locked in a space of protocol claim", []any{"group", r.Group, "error", r.Err}
}

// Fault returns the group and the reason.
func (r Refused) Fault() (group string, err error) { return r.Group, r.Err }

func (l Left) String() string {
	return fmt.Sprintf("%d claims of %q are left in the store: %v", l.Claims, l.Name, l.Err)
}

// Unattended notes that the store will not report the end of this process, so its locks end by their leases.
type Unattended struct{ Err error }

func (u Unattended) String() string {
	return "the store will not report the end of this process: " + u.Err.Error()
}

// Log gives the reason.
func (u Unattended) Log(func(protocol.ID) string) (protocol.Severity, string, []any) {
	return protocol.Warn, u.String(), nil
}
