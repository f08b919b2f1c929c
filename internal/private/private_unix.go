//go:build unix

package private

import (
	"io/fs"
	"syscall"
)

// rights returns the permissions of a file or a folder.
func rights(info fs.FileInfo) fs.FileMode { return info.Mode().Perm() }

// ofRoot reports whether a file belongs to root.
func ofRoot(info fs.FileInfo) bool {
	owner, known := info.Sys().(*syscall.Stat_t)
	return known && owner.Uid == 0
}
