//go:build !unix

package private

import "io/fs"

// rights: this system has no permissions that could be compared.
func rights(fs.FileInfo) fs.FileMode { return 0 }

func ofRoot(fs.FileInfo) bool { return false }
