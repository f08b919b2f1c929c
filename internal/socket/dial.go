package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
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

// Dialer opens connections to one address, and remembers the network's latest error: gRPC passes it on only as text.
// Its zero value uses [Dial].
type Dialer struct {
	Through func(ctx context.Context, address string) (net.Conn, error) // nil means Dial

	mu  sync.Mutex
	err error
}

// Dial opens a connection.
func (d *Dialer) Dial(ctx context.Context, address string) (net.Conn, error) {
	dial := d.Through
	if dial == nil {
		dial = Dial
	}
	conn, err := dial(ctx, address)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
	return conn, err
}

// Reason returns the system's reason for the last failure to connect. It is nil after a success, before the first
// attempt, and if the time was over before the network answered.
func (d *Dialer) Reason() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var number syscall.Errno
	var unknown *net.DNSError
	switch {
	case errors.As(d.err, &number):
		return number
	case errors.Is(d.err, context.Canceled), errors.Is(d.err, context.DeadlineExceeded):
		return nil
	case errors.As(d.err, &unknown):
		return fmt.Errorf("the host is not known: %s", unknown.Err)
	}
	return d.err
}
