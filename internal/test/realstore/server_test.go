package realstore_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/test/realstore"
)

// patience bounds the waits of a test; brief is how long it waits for something that must not happen.
const (
	patience = 20 * time.Second
	brief    = 50 * time.Millisecond
)

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	connection, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	return connection
}

// command sends a line to a Redis, and returns the first line of the answer.
func command(connection net.Conn, line string, wait time.Duration) (string, error) {
	if err := connection.SetDeadline(time.Now().Add(wait)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(connection, line+"\r\n"); err != nil {
		return "", err
	}
	answer, err := bufio.NewReader(connection).ReadString('\n')
	return strings.TrimSpace(answer), err
}

// TestServers checks that servers start, are killed, and start again at the same address, and accept connections while
// paused.
func TestServers(t *testing.T) {
	for name, start := range map[string]func(testing.TB, ...string) *realstore.Server{
		"postgres": realstore.StartPostgres, "redis": realstore.StartRedis, "etcd": realstore.StartEtcd,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			if !strings.Contains(s.URL(), name+"://") || !strings.Contains(s.URL(), s.Address()) {
				t.Errorf("at %s: %s", s.Address(), s.URL())
			}
			s.Kill()
			if connection, err := net.Dial("tcp", s.Address()); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("after its death: %v, %v", connection, err)
			}
			s.Restart()
			s.Pause()
			dial(t, s.Address())
			s.Resume()
			s.Pause() // and so it ends
		})
	}
}

// TestKept checks that acknowledged data of Redis survives its death, and that it answers nothing while paused.
func TestKept(t *testing.T) {
	s := realstore.StartRedis(t)
	connection := dial(t, s.Address())
	if answer, err := command(connection, "SET one 1", patience); answer != "+OK" || err != nil {
		t.Fatal(answer, err)
	}
	s.Pause()
	if answer, err := command(connection, "INCR one", brief); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%q, %v", answer, err)
	}
	s.Resume()
	s.Kill()
	s.Restart()
	if answer, err := command(dial(t, s.Address()), "STRLEN one", patience); answer != ":1" || err != nil {
		t.Error(answer, err)
	}
}

// TestKilled checks that a server ends with a killed test.
func TestKilled(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		realstore.Redis(t) // which reports it
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	other := exec.Command(program, "-test.run", "^TestToBeKilled$")
	other.Env = append(os.Environ(), killed+"=1", "TMPDIR="+t.TempDir())
	said, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	var address string
	if _, err := fmt.Fscanf(said, "at %s\n", &address); err != nil {
		t.Fatal(err, other.Process.Kill(), other.Wait())
	}
	connection := dial(t, address)
	if answer, err := command(connection, "PING", patience); answer != "+PONG" || err != nil {
		t.Error(answer, err)
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := connection.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the server goes on: %v", err)
	}
	if err := other.Wait(); err == nil {
		t.Error("the other test was not killed")
	}
}

// recorder is a test that records its outcome.
type recorder struct {
	testing.TB
	how string
}

func (r *recorder) Skipf(format string, args ...any) {
	r.how = "skipped: " + fmt.Sprintf(format, args...)
	r.TB.SkipNow()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.how = "failed: " + fmt.Sprintf(format, args...)
	r.TB.SkipNow()
}

// TestMissing checks that a missing server skips the test, or fails it, depending on the environment.
func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for value, want := range map[string]string{
		"":         "skipped: no program redis-server is installed: apt-get install redis-server",
		"required": "failed: TEST_STORES=required: no program redis-server is installed: apt-get install redis-server",
		"some":     `failed: TEST_STORES is "some"; required and required-but-cassandra are allowed`,

		"required-but-cassandra": "failed: TEST_STORES=required-but-cassandra: no program redis-server is installed: apt-get install redis-server",
	} {
		r := &recorder{}
		t.Run(value, func(t *testing.T) {
			t.Setenv("TEST_STORES", value)
			r.TB = t
			realstore.Redis(r)
		})
		if !strings.HasPrefix(r.how, want) {
			t.Errorf("with %q: %s", value, r.how)
		}
	}
}
