package client

import "github.com/holdfast-locks/holdfast/internal/api/schema"

// The messages of the network API, as an Admin returns them. HTTP has the same ones as JSON (/v1/openschema.json).
type (
	// AcquiredAll is the list of grants of an Acquisition.
	AcquiredAll = schema.AcquiredAll
	// Renewed is a session with its new time to live.
	Renewed = schema.Renewed
	// SessionReleased is the end of a session, with the locks it held.
	SessionReleased = schema.SessionReleased
	// Locks is a page of the locks of a space.
	Locks = schema.LockPage
	// Lock is a name, with its holders and waiting requests.
	Lock = schema.Lock
	// Broken is a lock that an operator has taken from its holders.
	Broken = schema.Broken
	// Status is a member's knowledge of itself, the cluster and the spaces.
	Status = schema.Status
	// Event is an event in a space.
	Event = schema.WatchEvent
	// Observed is the state of a name at one moment.
	Observed = schema.Observed
	// Transferred is a transfer of a space's authority.
	Transferred = schema.Transferred
	// Shards are the voters of a space of protocol consensus.
	Shards = schema.Shards
	// Suspended is the suspension of a space, or its end.
	Suspended = schema.Suspended
	// Opened reports whether a member has a space open.
	Opened = schema.OpenedSpace
	// ForcePlan describes a forced view in advance.
	ForcePlan = schema.ForcePlan
	// ForceView is an order to form a view after the permanent loss of a quorum.
	ForceView = schema.ForceViewRequest
	// ForcedView is a view that an operator has forced.
	ForcedView = schema.ForcedView
	// WhoAmI is a caller as a member knows it, with its rights and its limits.
	WhoAmI = schema.WhoAmI
	// AccessDecision says whether a subject has a right, and why.
	AccessDecision = schema.AccessDecision
	// AccessToken is a token of a member, without its secret.
	AccessToken = schema.AccessToken
	// AccessTokens are the tokens of a member.
	AccessTokens = schema.AccessTokens
	// SessionList are the sessions of a member.
	SessionList = schema.SessionList
	// AuditEntry is an entry of the audit log of a member.
	AuditEntry = schema.AuditEntry
)
