package local

import (
	"cmp"
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/admin"
)

// Grace is a hold that its hold limit has ended, and whose name stays taken until Grant.Until, so that its holder can
// stop. The table no longer has it; views show it as a holder.
type Grace struct {
	Name  string
	Grant lock.Grant
}

// InGrace returns the Grace of a request that was held.
func (r *Request) InGrace(until protocol.Time) Grace {
	g := Grace{Name: r.Key.Name, Grant: lock.Grant{
		Session: r.Key.Session, Attributes: r.Attributes, Client: r.Client,
		Token: r.Token, Since: r.Since, Until: until, Holds: 1, Grace: true,
	}}
	g.Grant.Hold, g.Grant.Value = 0, "" // it is over
	return g
}

// graces lists, in order of their names, those whose names begin with prefix and come after a name.
func (c *Clients[R]) graces(now protocol.Time, after, prefix string) []Grace {
	list := slices.DeleteFunc(c.protocol.Graces(now), func(g Grace) bool { return g.Name <= after || !strings.HasPrefix(g.Name, prefix) })
	slices.SortStableFunc(list, func(a, b Grace) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// adding returns a name with those of the graces that are of it among its holders.
func adding(l lock.Lock, graces []Grace) lock.Lock {
	for _, g := range graces {
		if g.Name != l.Name {
			continue
		}
		if len(l.Holders) == 0 {
			l.Mode, l.Capacity = g.Grant.Mode, g.Grant.Capacity
		}
		l.Units += g.Grant.Units
		l.Token = max(l.Token, g.Grant.Token)
		l.Holders = append(l.Holders, g.Grant)
	}
	slices.SortStableFunc(l.Holders, func(a, b lock.Grant) int { return cmp.Compare(a.Token, b.Token) })
	return l
}

// namesInGrace returns the number of names taken only by graces.
func (c *Clients[R]) namesInGrace(now protocol.Time) (names int) {
	graces := c.graces(now, "", "")
	for i := range graces {
		name := graces[i].Name
		if l := c.table.Show(name); (i == 0 || graces[i-1].Name != name) && len(l.Holders)+len(l.Waiters) == 0 {
			names++
		}
	}
	return names
}

// unbroken is why a Break has taken the name from nothing: no client holds it, or it is in its grace, which
// ends by itself or when its holder has stopped.
func unbroken(now protocol.Time, query *admin.Query, graces []Grace) error {
	for _, g := range adding(lock.Lock{Name: query.Name}, graces).Holders {
		if query.Token == 0 || query.Token == g.Token {
			return &lock.HeldBy{
				Owner: cmp.Or(g.Owner, g.Client), Holder: g.Session, Age: max(0, now-g.Since), Grace: true, Left: max(0, g.Until-now),
			}
		}
	}
	return holdfast.ErrNotHeld
}
