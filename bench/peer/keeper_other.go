//go:build !linux

package peer

import "syscall"

// endWithParent does nothing: this system has no such promise.
func endWithParent(*syscall.SysProcAttr) {}
