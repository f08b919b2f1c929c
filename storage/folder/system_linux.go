package folder

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// fileSystem returns the kind of the file system of a folder, and whether it may be shared by machines.
func fileSystem(path string) (kind string, remote bool, err error) {
	var about unix.Statfs_t
	if err := unix.Statfs(path, &about); err != nil {
		return "", false, err
	}
	kind = map[uint32]string{
		unix.V9FS_MAGIC: "9p", unix.AFS_SUPER_MAGIC: "afs", 0x19830326: "beegfs", unix.CEPH_SUPER_MAGIC: "ceph", unix.CIFS_SUPER_MAGIC: "cifs",
		unix.CODA_SUPER_MAGIC: "coda", unix.FUSE_SUPER_MAGIC: "fuse", 0x01161970: "gfs2", 0x47504653: "gpfs", 0x0bd00bd0: "lustre",
		unix.NCP_SUPER_MAGIC: "ncp", unix.NFS_SUPER_MAGIC: "nfs", unix.OCFS2_SUPER_MAGIC: "ocfs2", unix.SMB_SUPER_MAGIC: "smb", unix.SMB2_SUPER_MAGIC: "smb2",
	}[uint32(about.Type)]
	return kind, isRemote(kind), nil
}

// syncData returns when the contents of the file are on disk.
func syncData(f *os.File) error {
	return ignoringEINTR(func() error { return unix.Fdatasync(int(f.Fd())) })
}

// readLimit is how long a read of a FIFO takes before it is repeated. The end of the last writer wakes the reader.
const readLimit = time.Minute
