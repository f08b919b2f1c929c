package main

import (
	"errors"
	"net"
	"testing"
)

// TestLocalhost: a client finds the member at localhost by IPv6 as it does by IPv4, at one port.
func TestLocalhost(t *testing.T) {
	probe, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 loopback:", err)
	}
	must(t, probe.Close())
	l, err := listenAt("LocalHost:0")
	must(t, err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	must(t, err)
	for _, host := range []string{"127.0.0.1", "::1"} {
		there, err := net.Dial("tcp", net.JoinHostPort(host, port))
		must(t, err)
		here, err := l.Accept()
		must(t, err)
		if got := here.RemoteAddr().String(); got != there.LocalAddr().String() {
			t.Errorf("%s was accepted, want %v", got, there.LocalAddr())
		}
		must(t, errors.Join(here.Close(), there.Close()))
	}
	if again, err := listenAt("localhost:" + port); err == nil {
		t.Errorf("port %s was taken twice", port)
		must(t, again.Close())
	}
	must(t, l.Close())
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept after Close: %v", err)
	}
	must(t, l.Close())
}
