//go:build unix && !linux

package supervise

// Main runs a program's own main function and exits with its status. On Linux it also reaps processes that others have
// left behind, if this is the first process of a container.
func Main(run func() int) { runAndExit(run) }
