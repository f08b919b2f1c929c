package observe

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Documents makes documents of what a table shows, with the names and times of one member.
type Documents struct {
	Name func(protocol.ID) string
	Wall func(protocol.Time) time.Time
}

// Lock returns a name of a space as a document.
func (d Documents) Lock(space string, l *lock.Lock) *schema.Lock {
	document := &schema.Lock{
		Space: space, Name: l.Name, Mode: api.ToMode(l.Mode), Units: int32(l.Units), Capacity: int32(l.Capacity), Token: uint64(l.Token),
	}
	for i := range l.Holders {
		document.Holders = append(document.Holders, d.Grant(&l.Holders[i]))
	}
	for i := range l.Waiters {
		waits := d.wait(&l.Waiters[i])
		waits.Position = int32(i)
		document.Waiters = append(document.Waiters, waits)
	}
	for i := range l.History {
		document.History = append(document.History, d.Grant(&l.History[i]))
	}
	return document
}

// Grant returns a grant as a document.
func (d Documents) Grant(g *lock.Grant) *schema.Grant {
	document := &schema.Grant{
		Owner: g.Owner, Session: g.Session.String(), Member: d.Name(protocol.ID(g.Session.Member)), Client: g.Client,
		Mode: api.ToMode(g.Mode), Units: int32(g.Units), Token: uint64(g.Token),
		Since: api.Stamp(d.Wall(g.Since)), Until: d.Until(g.Until), Reason: g.Reason, Grace: g.Grace, Value: g.Value, Revision: g.Revision, Revoked: g.Revoked,
	}
	if g.Holds > 1 {
		document.Holds = int32(g.Holds)
	}
	return document
}

func (d Documents) wait(w *lock.Wait) *schema.Wait {
	waits := &schema.Wait{
		Owner: w.Owner, Session: w.Session.String(), Member: d.Name(protocol.ID(w.Session.Member)), Client: w.Client,
		Mode: api.ToMode(w.Mode), Units: int32(w.Units), Since: api.Stamp(d.Wall(w.Since)), Until: d.Until(w.Until),
		Reason: w.Reason, Value: w.Value, Request: w.Request,
	}
	for _, id := range w.For {
		waits.For = append(waits.For, d.Name(protocol.ID(id)))
	}
	return waits
}

// Until returns the end of something, nil for a time that never comes.
func (d Documents) Until(t protocol.Time) *timestamppb.Timestamp {
	if t == protocol.Never {
		return nil
	}
	return api.Stamp(d.Wall(t))
}
