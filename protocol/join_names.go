package protocol

import "strings"

// JoinNames joins names for a sentence: "m1, m2 and m3"; "none" for an empty list.
func JoinNames(names []string) string {
	switch last := len(names) - 1; {
	case last < 0:
		return "none"
	case last == 0:
		return names[0]
	default:
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
}
