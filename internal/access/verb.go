package access

import (
	"fmt"
	"strings"
)

// Verb is a kind of call, as a policy tells them apart. The zero Verb is none, and is never allowed.
type Verb uint8

// The verbs.
const (
	Lock    Verb = iota + 1 // acquire, release, renew, and observe the same names
	Read                    // show, list, events
	Break                   // take a lock from its holder
	Operate                 // suspend, resume, transfer, spaces, the end of another client's session
	Admin                   // leave, drain, membership, force-view, snapshots, tokens
)

// words has the name of each verb, in the order of the constants.
var words = [...]string{"lock", "read", "break", "operate", "admin"}

// Verbs returns all verbs.
func Verbs() []Verb { return []Verb{Lock, Read, Break, Operate, Admin} }

// String returns the verb as it is written in a file.
func (v Verb) String() string {
	if v < Lock || v > Admin {
		return fmt.Sprintf("verb %d", uint8(v))
	}
	return words[v-1]
}

// ParseVerb returns the verb of a word. The error names all verbs.
func ParseVerb(word string) (Verb, error) {
	for i, known := range words {
		if word == known {
			return Verb(i) + Lock, nil
		}
	}
	return 0, fmt.Errorf("there is no verb %s; the verbs are %s", quote(word), strings.Join(words[:], ", "))
}

// verbs is a set of verbs.
type verbs uint8

// every is the set of all verbs.
const every verbs = 1<<Admin - 1

// bit returns the set of one verb; none for one that does not exist.
func bit(v Verb) verbs { return 1 << (v - Lock) & every }

// set returns the set of some verbs.
func set(all ...Verb) (s verbs) {
	for _, v := range all {
		s |= bit(v)
	}
	return s
}
