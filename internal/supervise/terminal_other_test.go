//go:build unix && !linux

package supervise

// The tests with a terminal open it as Linux does.
var terminalRoles map[string]func(args []string) int
