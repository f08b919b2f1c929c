// Command bench measures Holdfast and the lock services of others, with the same
// workloads, through the same interface, on this machine, in the same minutes. README.md
// says how it is run and how its table is read.
//
//	main.go     the command: what it starts, and what it ends with
//	flags.go    what is asked for
//	report.go   what it tells
//	peer        etcd, Redis, PostgreSQL as targets; its page says what their locks are worth
//
// The workloads, the rounds and the figures are those of holdfast bench (package
// internal/load), and so are Holdfast's own targets and the yardsticks (package
// internal/load/target), which are started from the holdfast program. It is a module of
// its own, so that no client of others becomes a dependency of the product.
package main
