package realstore

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/realstore/recipe"
)

// Redis starts a Redis, and returns its URL.
func Redis(t testing.TB) string {
	t.Helper()
	return StartRedis(t).URL()
}

// StartRedis starts a Redis that writes every command to its log, so that what it has answered
// is there after Kill and Restart. The words in more stand behind those of its command, as
// "--requirepass", "secret".
func StartRedis(t testing.TB, more ...string) *Server {
	t.Helper()
	r := recipe.Redis()
	program, err := r.Find()
	if err != nil {
		unavailable(t, err)
	}
	return start(t, kind{
		name: "redis", ports: r.Ports, drop: r.Drop, end: syscall.SIGKILL, ask: askRedis,
		url: func(address string) string { return "redis://" + address },
		commands: func(folder string, ports []string) [][]string {
			return r.Commands(program, folder, ports, append([]string{"--save", "", "--appendonly", "yes", "--appendfsync", "no"}, more...)...)
		},
	})
}

// askLimit is how long a server may take to answer that it serves.
const askLimit = time.Second

// dial connects to a server that is to be asked something.
func dial(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	deadline, _ := ctx.Deadline()
	if err := connection.SetDeadline(deadline); err != nil {
		connection.Close()
		return nil, err
	}
	return connection, nil
}

// askRedis pings. One that wants a password serves, too.
func askRedis(ctx context.Context, address string) error {
	connection, err := dial(ctx, address)
	if err != nil {
		return err
	}
	defer connection.Close()
	if _, err := connection.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	line, err := bufio.NewReader(connection).ReadString('\n')
	if err != nil {
		return err
	}
	if !strings.HasPrefix(line, "+PONG") && !strings.HasPrefix(line, "-NOAUTH") {
		return fmt.Errorf("it answers %q", line)
	}
	return nil
}
