//go:build !linux

package recipe

import "syscall"

// EndWithParent does nothing on this system: the parent has to end its children.
func EndWithParent(*syscall.SysProcAttr, syscall.Signal) {}

// Family returns only the process: this system has no list of descendants.
func Family(process int) ([]int, error) { return []int{process}, nil }
