package main

import (
	"log/slog"
	"net"
	"strings"
)

// notify tells the service manager that started us how we are, as sd_notify(3) does:
// one datagram to the socket that it named. A name that begins with @ is one of
// Linux's abstract sockets.
func (p *program) notify(state string, log *slog.Logger) {
	socket := p.variable("NOTIFY_SOCKET")
	if socket == "" {
		return
	}
	if err := send(socket, state); err != nil {
		log.Warn("the service manager cannot be told", "state", state, "error", err)
	}
}

func send(socket, state string) error {
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write([]byte(state))
	return err
}

// variable returns a variable of the environment; "" where it is not set. Of one that
// stands there twice the last one counts.
func (p *program) variable(name string) string {
	value := ""
	for _, entry := range p.environ {
		if found, ok := strings.CutPrefix(entry, name+"="); ok {
			value = found
		}
	}
	return value
}
