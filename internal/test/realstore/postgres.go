package realstore

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"syscall"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/test/realstore/recipe"
)

// Postgres starts a PostgreSQL, and returns its URL.
func Postgres(t testing.TB) string {
	t.Helper()
	return StartPostgres(t).URL()
}

// StartPostgres starts a PostgreSQL with a database postgres and a user postgres without a password, for at most 300
// connections. The arguments in more are appended to its command, as "-c", "max_connections=10".
func StartPostgres(t testing.TB, more ...string) *Server {
	t.Helper()
	return startPostgres(t, kind{
		ping: func(ctx context.Context, address string) error { return pingPostgres(ctx, address, nil) },
		url:  func(address string) string { return "postgres://postgres@" + address + "/postgres?sslmode=disable" },
	}, func(string) []string { return more })
}

// StartPostgresTLS starts such a PostgreSQL whose clients use TLS.
func StartPostgresTLS(t testing.TB, secure TLS) *Server {
	t.Helper()
	clientTLS := secure.clientConfig(t)
	return startPostgres(t, kind{
		tls:  &secure,
		ping: func(ctx context.Context, address string) error { return pingPostgres(ctx, address, clientTLS) },
		url:  func(address string) string { return "postgres://postgres@" + address + "/postgres?sslmode=verify-full" },
	}, func(folder string) []string {
		return []string{
			"-c", "ssl=on", "-c", "ssl_cert_file=" + certFile(folder), "-c", "ssl_key_file=" + keyFile(folder), "-c", "ssl_ca_file=" + caFile(folder),
			"-c", "hba_file=" + hbaFile(folder),
		}
	})
}

// startPostgres adds the common settings.
func startPostgres(t testing.TB, k kind, more func(folder string) []string) *Server {
	t.Helper()
	r := recipe.PostgreSQL()
	program, err := r.Find()
	if err != nil {
		Lacks(t, err)
	}
	// SIGQUIT is the immediate shutdown: it leaves no process, and waits for nothing.
	k.name, k.ports, k.drop, k.end = "postgres", r.Ports, r.Drop, syscall.SIGQUIT
	k.commands = func(folder string, ports []string) [][]string {
		return r.Commands(program, folder, ports, append([]string{"-c", "fsync=off", "-c", "max_connections=300"}, more(folder)...)...)
	}
	return start(t, k)
}

// The PostgreSQL protocol, version 3.0, as far as a login needs it: a message is a byte for its kind (except the first
// one), a length that includes itself, and a body.
const (
	protocolVersion = 3 << 16
	readyForQuery   = 'Z'
	errorResponse   = 'E'
	terminate       = 'X'

	encryptionRequest = 80877103 // in place of a version
	encryptionGranted = 'S'
)

// pingPostgres logs in.
func pingPostgres(ctx context.Context, address string, secure *tls.Config) error {
	connection, err := dial(ctx, address)
	if err != nil {
		return err
	}
	defer connection.Close()
	if secure != nil {
		var answer [1]byte
		if _, err := connection.Write(binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8}, encryptionRequest)); err != nil {
			return err
		}
		if _, err := io.ReadFull(connection, answer[:]); err != nil {
			return err
		}
		if answer[0] != encryptionGranted {
			return fmt.Errorf("it does not speak TLS, and answers %q", answer)
		}
		connection = tls.Client(connection, secure)
	}
	body := binary.BigEndian.AppendUint32(nil, protocolVersion)
	body = append(body, "user\x00postgres\x00database\x00postgres\x00\x00"...)
	startup := binary.BigEndian.AppendUint32(nil, uint32(len(body)+4))
	if _, err := connection.Write(append(startup, body...)); err != nil {
		return err
	}
	for answers := bufio.NewReader(connection); ; {
		var head [5]byte
		if _, err := io.ReadFull(answers, head[:]); err != nil {
			return err
		}
		body := make([]byte, max(4, binary.BigEndian.Uint32(head[1:]))-4)
		if _, err := io.ReadFull(answers, body); err != nil {
			return err
		}
		switch head[0] {
		case readyForQuery:
			_, err := connection.Write([]byte{terminate, 0, 0, 0, 4})
			return err
		case errorResponse:
			return fmt.Errorf("it answers %q", body)
		}
	}
}
