//go:build unix && !linux

package supervise

// The tests with a terminal open it as Linux does.
var terminalRoles map[string]func(args []string) int

// An early guardian is found by looking at processes, too.
var earlyRoles map[string]func(args []string) int

// The tests with an heir look at processes as Linux shows them.
var heirRoles map[string]func(args []string) int
