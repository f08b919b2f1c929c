//go:build darwin || freebsd

package socket

import (
	"net"

	"golang.org/x/sys/unix"
)

// credentials queries LOCAL_PEERCRED.
func credentials(conn *net.UnixConn) (peer Peer, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return peer, err
	}
	var asked error
	err = raw.Control(func(fd uintptr) {
		told, err := unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		if asked = err; err == nil {
			peer = Peer{UID: told.Uid, PID: process(int(fd)), GIDs: told.Groups[:min(max(0, int(told.Ngroups)), len(told.Groups))]}
		}
	})
	if err == nil {
		err = asked
	}
	return peer, err
}
