package socket

import (
	"context"
	"net"
)

// Dial opens a connection to HOST:PORT, or to the socket of unix:///PATH. The error is the network's.
func Dial(ctx context.Context, address string) (net.Conn, error) {
	network := "tcp"
	if path, is := Path(address); is {
		network, address = "unix", path
	}
	var d net.Dialer
	return d.DialContext(ctx, network, address)
}
