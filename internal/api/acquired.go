package api

import (
	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// FromAcquired reads what port 4040 says of an acquired lock. The error names the
// value that is none.
func FromAcquired(a *schema.Acquired) (Acquired, error) {
	mode, err := FromMode(a.GetMode())
	if err != nil {
		return Acquired{}, err
	}
	class, err := FromClass(a.GetClass())
	if err != nil {
		return Acquired{}, err
	}
	return Acquired{
		Space: a.GetSpace(), Name: a.GetName(), Mode: mode, Units: int(a.GetUnits()), Owner: a.GetOwner(),
		Token: holdfast.Token(a.GetToken()), Since: AtNanoseconds(a.GetSince()), Until: AtNanoseconds(a.GetUntil()),
		TTL: Duration(a.GetTtl()), TTLCut: a.GetTtlCut(), Session: a.GetSession(), Class: class,
	}, nil
}

// ToAcquired is its reverse.
func ToAcquired(a Acquired) *schema.Acquired {
	return &schema.Acquired{
		Space: a.Space, Name: a.Name, Mode: ToMode(a.Mode), Units: int32(a.Units), Owner: a.Owner,
		Token: uint64(a.Token), Since: a.Since.Nanoseconds(), Until: a.Until.Nanoseconds(),
		Ttl: int64(a.TTL), TtlCut: a.TTLCut, Session: a.Session, Class: ToClass(a.Class),
	}
}
