package client

import "github.com/holdfast-locks/holdfast/internal/api"

// The documents of the network API, as an Admin gives them. Their JSON is that of HTTP (/v1/openapi.json).
type (
	// AcquiredAll is what was granted of an Acquisition.
	AcquiredAll = api.AcquiredAll
	// Renewed is a session with its new time to live.
	Renewed = api.Renewed
	// SessionReleased is the end of a session, with what it held.
	SessionReleased = api.SessionReleased
	// Locks is a page of the locks of a space.
	Locks = api.Locks
	// Lock is a name, with its holders, and the requests that wait for it.
	Lock = api.Lock
	// Broken is a lock that an operator has taken from its holders.
	Broken = api.Broken
	// Status is what a member knows of itself, of the cluster and of the spaces.
	Status = api.Status
	// Event is something that has happened in a space.
	Event = api.Event
	// Transferred is a transfer of a space's authority.
	Transferred = api.Transferred
	// Shards are the voters of a space of protocol consensus.
	Shards = api.Shards
	// Suspended is the suspension of a space, or its end.
	Suspended = api.Suspended
	// Opened says whether a member has a space open.
	Opened = api.Opened
	// ForcePlan is what a forced view would be.
	ForcePlan = api.ForcePlan
	// ForceView orders a view without the quorum that is lost for good.
	ForceView = api.ForceView
	// ForcedView is a view that an operator has forced.
	ForcedView = api.ForcedView
)
