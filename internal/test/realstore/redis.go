package realstore

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/test/realstore/recipe"
)

// Redis starts a Redis, and returns its URL.
func Redis(t testing.TB) string {
	t.Helper()
	return StartRedis(t).URL()
}

// StartRedis starts a Redis that writes every command to its log, so that acknowledged data survives Kill and Restart.
// The arguments in more are appended to its command, as "--requirepass", "secret".
func StartRedis(t testing.TB, more ...string) *Server {
	t.Helper()
	return startRedis(t, kind{
		ping: func(ctx context.Context, address string) error { return pingRedis(ctx, address, nil) },
		url:  func(address string) string { return "redis://" + address },
	}, func(string, []string) []string { return more })
}

// StartRedisTLS starts such a Redis whose clients use TLS.
func StartRedisTLS(t testing.TB, secure TLS) *Server {
	t.Helper()
	clientTLS := secure.clientConfig(t)
	return startRedis(t, kind{
		tls:  &secure,
		ping: func(ctx context.Context, address string) error { return pingRedis(ctx, address, clientTLS) },
		url:  func(address string) string { return "rediss://" + address },
	}, func(folder string, ports []string) []string {
		clients := "no"
		if secure.Mutual {
			clients = "yes"
		}
		return []string{
			"--port", "0", "--tls-port", ports[0], "--tls-cert-file", certFile(folder), "--tls-key-file", keyFile(folder),
			"--tls-ca-cert-file", caFile(folder), "--tls-auth-clients", clients,
		}
	})
}

// startRedis adds the common settings.
func startRedis(t testing.TB, k kind, more func(folder string, ports []string) []string) *Server {
	t.Helper()
	r := recipe.Redis()
	program, err := r.Find()
	if err != nil {
		Lacks(t, err)
	}
	k.name, k.ports, k.drop, k.end = "redis", r.Ports, r.Drop, syscall.SIGKILL
	k.commands = func(folder string, ports []string) [][]string {
		return r.Commands(program, folder, ports, append([]string{"--save", "", "--appendonly", "yes", "--appendfsync", "no"}, more(folder, ports)...)...)
	}
	return start(t, k)
}

// pingLimit is the time limit of a ping.
const pingLimit = time.Second

// dial connects to a server for a query.
func dial(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, pingLimit)
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

// pingRedis pings. A server that asks for a password serves, too.
func pingRedis(ctx context.Context, address string, secure *tls.Config) error {
	connection, err := dial(ctx, address)
	if err != nil {
		return err
	}
	defer connection.Close()
	if secure != nil {
		connection = tls.Client(connection, secure)
	}
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
