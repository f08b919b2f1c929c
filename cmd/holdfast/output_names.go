package main

import (
	"slices"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// namesIn returns the names of the things that a document with format name describes: of locks, members, lockspaces or
// tokens.
func namesIn(document any) (names []string) {
	switch d := document.(type) {
	case *schema.Lock:
		return []string{d.Name}
	case *schema.Acquired:
		return []string{d.Name}
	case *schema.AcquiredAll:
		for _, lock := range d.Locks {
			names = append(names, lock.Name)
		}
	case *schema.Status:
		for _, member := range d.View.Members {
			names = append(names, member.Name)
		}
	case *schema.Shards:
		for _, shard := range d.Shards {
			for _, member := range slices.Concat(shard.Voters, shard.Learners) {
				if !slices.Contains(names, member) {
					names = append(names, member)
				}
			}
		}
	case *schema.Space:
		return []string{d.Name}
	case tokenDocument:
		return []string{d.Name}
	}
	return names
}
