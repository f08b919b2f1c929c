// Command bench compares Holdfast with other lock services: same workloads, same interface, same machine, same minutes.
// README.md explains how to run it and how to read its table.
//
//	main.go     the command: start and end
//	flags.go    its flags
//	report.go   its output
//	peer        etcd, Redis, PostgreSQL as targets, and what their locks guarantee
//
// The workloads, the rounds and the figures are those of holdfast bench (package internal/load), and so are Holdfast's
// own targets and the yardsticks (package internal/load/target), which are started from the holdfast program. It is a
// separate module, so that no third-party client becomes a dependency of the product.
package main
