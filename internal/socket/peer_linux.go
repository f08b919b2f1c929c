package socket

import (
	"net"

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
			peer = Peer{UID: ucred.Uid, PID: int(ucred.Pid)}
		}
	})
	if err == nil {
		err = optErr
	}
	return peer, err
}
