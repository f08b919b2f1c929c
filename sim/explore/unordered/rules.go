package unordered

import (
	"reflect"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/sim/explore"
	"github.com/holdfast-locks/holdfast/sim/explore/snapshot"
)

// rules say what tells no states apart, because nothing that can happen here depends on it.
func rules(c *Config) []snapshot.Rule {
	all := explore.QuickRules()
	if c.Protocol.Unordered != nil {
		all = append(all, explore.Rules(c.Protocol.Unordered(c.Members))...)
	}
	// Who held before is kept for people.
	return append(all, snapshot.Rule{In: reflect.TypeFor[lock.Table](), Field: "history", Moot: func(reflect.Value) bool { return true }})
}
