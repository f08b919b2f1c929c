//go:build !linux

package recipe

import "syscall"

// EndWithParent does nothing on this system: the process that starts another one ends it.
func EndWithParent(*syscall.SysProcAttr, syscall.Signal) {}

// Family is the process alone: this system is not asked for others.
func Family(process int) ([]int, error) { return []int{process}, nil }
