//go:build darwin || freebsd || dragonfly

package folder

import "golang.org/x/sys/unix"

// fileSystem returns the kind of the file system of a folder, and whether it may be shared by machines.
func fileSystem(path string) (kind string, remote bool, err error) {
	var about unix.Statfs_t
	if err := unix.Statfs(path, &about); err != nil {
		return "", false, err
	}
	kind = unix.ByteSliceToString(about.Fstypename[:])
	return kind, isRemote(kind) || uint64(about.Flags)&unix.MNT_LOCAL == 0, nil
}
