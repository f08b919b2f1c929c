// Command holdfast is Holdfast for the shell: a member (serve), locks around a command (lock), locks for scripts
// (acquire, renew, release), commands for operators (status, locks, show, break, suspend, resume, transfer, space,
// member, store, snapshot, leave, drain, force-view), and evidence (demo, sim, bench).
//
// # Shape
//
// A run of the program is one [program] value: arguments, environment and the three standard files. Each command is a
// method of it that returns a *cli.Command, listed in commands.go; its action returns an error and never exits. Run
// turns that error into one sentence on standard error and an exit code:
//
//	exit.go     the exit code of each error, and usage errors; codes of a member's
//	            answers: internal/api/code.go
//	flags.go    the flags that several commands share, and their variables
//	connect.go  from those flags to a member
//
// # Guarantees for scripts
//
// Only results go to standard output. An error is one sentence on standard error that begins with "holdfast:", without
// Go syntax. Exit code 1 is never ours: every error has one of the documented codes, and 70 means an unexpected error.
//
// Every flag of a client's command may be given as a variable instead, HOLDFAST_ and the flag's name; the flag wins.
// The flags of serve are the configuration's keys, and internal/config reads their variables, because it must report
// where each value came from.
//
// # Processes
//
// This program is started again under other names: to guard the command of lock (see internal/supervise), which main
// checks before anything else; as a keeper, which renews a session of acquire in the background while some process
// lives; as the workers of demo (internal/demo, internal/test/clustertest); and as the servers of bench
// (internal/load/target).
package main
