package socket

import (
	"fmt"
	"net"
	"os/user"
	"strconv"
)

// Peer is the process that has connected to a socket, as identified by the system.
type Peer struct {
	UID  uint32
	PID  int      // 0 if the system does not report it
	GIDs []uint32 // the process's groups, the first one first
}

// Of returns the process at the other end of a connection, and whether it is a Unix socket at all. A wrapper of a
// connection has a NetConn method, as in crypto/tls.
func Of(conn net.Conn) (peer Peer, is bool, err error) {
	for {
		switch c := conn.(type) {
		case *net.UnixConn:
			peer, err = credentials(c)
			if err != nil {
				err = fmt.Errorf("find out who has connected: %w", err)
			}
			return peer, true, err
		case interface{ NetConn() net.Conn }:
			conn = c.NetConn()
		default:
			return Peer{}, false, nil
		}
	}
}

// Subject names the user to policies. It is the same for all connections of a user.
func (p Peer) Subject() string { return "uid:" + strconv.FormatUint(uint64(p.UID), 10) }

// Groups names the groups of the process to policies.
func (p Peer) Groups() []string {
	all := make([]string, len(p.GIDs))
	for i, gid := range p.GIDs {
		all[i] = "gid:" + strconv.FormatUint(uint64(gid), 10)
	}
	return all
}

// String names the user and the process, for people.
func (p Peer) String() string {
	who := "uid " + strconv.FormatUint(uint64(p.UID), 10)
	if known, err := user.LookupId(strconv.FormatUint(uint64(p.UID), 10)); err == nil && known.Username != "" {
		who = known.Username
	}
	if p.PID == 0 {
		return who
	}
	return who + " pid " + strconv.Itoa(p.PID)
}
