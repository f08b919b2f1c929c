package protocol

import "strings"

// JoinNames lists names in a sentence: "m1, m2 and m3"; "none" where there are none.
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
