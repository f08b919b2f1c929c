//go:build mutations

package protocol

import "sync/atomic"

var mutation atomic.Pointer[string]

// Mutated reports whether rule is the one that is switched off.
func Mutated(rule string) bool {
	m := mutation.Load()
	return m != nil && *m == rule
}

// Mutate switches one rule off, and any other on. "" switches all on. It is called
// between runs.
func Mutate(rule string) { mutation.Store(&rule) }
