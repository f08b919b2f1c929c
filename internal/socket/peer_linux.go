package socket

import (
	"net"

	"golang.org/x/sys/unix"
)

// credentials asks with SO_PEERCRED.
func credentials(conn *net.UnixConn) (peer Peer, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return peer, err
	}
	var asked error
	err = raw.Control(func(fd uintptr) {
		told, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		if asked = err; err == nil {
			peer = Peer{UID: told.Uid, PID: int(told.Pid)}
		}
	})
	if err == nil {
		err = asked
	}
	return peer, err
}
