package central

import "github.com/holdfast-locks/holdfast/authority"

// Vocabulary lists one value of each type that is sent here: all of them are those that a
// holder and an authority have for each other. Under this protocol their Version is zero,
// because an epoch has one reign.
func Vocabulary() []any { return authority.Vocabulary() }
