package socket

import (
	"net"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// credentials queries SO_PEERCRED.
func credentials(conn *net.UnixConn) (peer Peer, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return peer, err
	}
	var optErr error
	err = raw.Control(func(fd uintptr) {
		ucred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		if optErr = err; err == nil {
			peer = Peer{UID: ucred.Uid, PID: int(ucred.Pid), GIDs: append([]uint32{ucred.Gid}, groups(int(fd))...)}
		}
	})
	if err == nil {
		err = optErr
	}
	return peer, err
}

// mostGroups is the largest number of supplementary groups that is read.
const mostGroups = 1024

// groups queries SO_PEERGROUPS, the supplementary groups that the process had when it connected. A kernel before 4.13 has
// none, and of a process with more than mostGroups none is known.
func groups(fd int) []uint32 {
	var found [mostGroups]uint32
	size := uint32(unsafe.Sizeof(found))
	_, _, failed := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_PEERGROUPS,
		uintptr(unsafe.Pointer(&found[0])), uintptr(unsafe.Pointer(&size)), 0)
	if failed != 0 {
		return nil
	}
	return slices.Clone(found[:size/uint32(unsafe.Sizeof(found[0]))])
}
