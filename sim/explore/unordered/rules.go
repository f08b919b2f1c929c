package unordered

import (
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol/probe"
	"github.com/holdfast-locks/holdfast/sim/explore"
	"github.com/holdfast-locks/holdfast/sim/explore/snapshot"
)

// rules are for fields that do not distinguish states, because nothing in this model depends on them.
func rules(c *Config) []snapshot.Rule {
	fields := []probe.Field{{In: lock.Table{}, Name: "history"}} // who held before is kept for people
	if c.Protocol.Unordered != nil {
		fields = append(fields, c.Protocol.Unordered(c.Members)...)
	}
	return append(explore.QuickRules(), explore.Rules(fields)...)
}
