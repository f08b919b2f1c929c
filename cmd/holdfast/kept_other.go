//go:build unix && !linux

package main

// argumentsOfProcesses returns nothing: this system lists no processes in files.
func argumentsOfProcesses() [][]string { return nil }
