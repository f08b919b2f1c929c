//go:build !linux && !darwin && !freebsd

package socket

import (
	"errors"
	"net"
	"os"
)

// supported: this system does not identify peers.
const supported = false

func credentials(*net.UnixConn) (Peer, error) { return Peer{}, errors.ErrUnsupported }

func acquire(string) (*os.File, error) { return nil, errors.ErrUnsupported }
