package realstore

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// The environment variables that select the Cassandra of the tests.
const (
	cassandraRunning  = "TEST_CASSANDRA" // the host:port of one that runs already
	cassandraRequired = "TEST_STORES"    // "required": tests without one fail
)

// Cassandra returns the URL of a keyspace with a random name, which a driver makes when it opens it, with one replica.
// It is in the server at TEST_CASSANDRA=host:port. If that is not set and TEST_STORES is "required", it is in a server
// that the first call starts and all tests of the program share: the start takes 5 to 20 s, and 0.7 GB of memory. With
// neither the test is skipped.
//
// The keyspace of a test exists as long as the server runs.
func Cassandra(t testing.TB) string {
	t.Helper()
	address := os.Getenv(cassandraRunning)
	if address == "" {
		requireCassandra(t)
		node, err := sharedCassandra()
		if err != nil {
			t.Fatalf("start Cassandra: %v", err)
		}
		address = node.Address
	}
	return "cassandra://" + address + "/" + Keyspace() + "?replication=1"
}

// Keyspace returns the name of a keyspace that does not exist yet.
func Keyspace() string { return "test_" + strings.ToLower(rand.Text()) }

// sharedCassandra starts the server that the tests of a program share. It only ends with the program, which holds its
// leash.
var sharedCassandra = sync.OnceValues(func() (*CassandraNode, error) {
	ports, err := freePorts(2, "127.0.0.1")
	if err != nil {
		return nil, err
	}
	return startCassandra("127.0.0.1", "127.0.0.1", ports, "")
})

// requireCassandra skips a test for which no server may be started, and explains how to enable it.
func requireCassandra(t testing.TB) {
	t.Helper()
	if os.Getenv(cassandraRequired) != "required" {
		t.Skipf("a server of Cassandra takes much time and memory, and is not asked for: set %s=required to have one started (it needs Java 17 and, once, Maven), or %s=host:port for one that runs", cassandraRequired, cassandraRunning)
	}
}

// CassandraNode is one server, of one test or shared.
type CassandraNode struct {
	Address string // host:port of its CQL listener

	command *exec.Cmd
	process int      // id of the server itself
	leash   *os.File // when it is closed, by any end of this process, the server is killed
}

// CassandraNodes starts a separate cluster for a test that injects faults: so many nodes, at 127.0.0.1, 127.0.0.2 and
// so on, with one port for all. Settings are lines that are added to the servers' cassandra.yaml. It takes 5 to 20 s
// and 0.7 GB of memory for each node. Without TEST_STORES=required the test is skipped.
func CassandraNodes(t testing.TB, count int, settings string) []*CassandraNode {
	t.Helper()
	requireCassandra(t)
	hosts := make([]string, count)
	for i := range hosts {
		hosts[i] = "127.0.0." + strconv.Itoa(i+1)
	}
	ports, err := freePorts(2, hosts...)
	if err != nil {
		t.Fatal(err)
	}
	nodes := make([]*CassandraNode, count)
	for i, host := range hosts {
		node, err := startCassandra(host, hosts[0], ports, settings)
		if err != nil {
			t.Fatalf("start node %d of Cassandra: %v", i+1, err)
		}
		t.Cleanup(func() {
			_ = node.command.Wait() // however it has ended
		})
		t.Cleanup(func() {
			if err := node.leash.Close(); err != nil {
				t.Errorf("end node %d of Cassandra: %v", i+1, err)
			}
		})
		nodes[i] = node
	}
	return nodes
}

// Kill ends the server at once, as a crash does.
func (n *CassandraNode) Kill(t testing.TB) { n.signal(t, syscall.SIGKILL) }

// Pause stops the server: its connections stay, and it answers nothing. Resume continues it.
func (n *CassandraNode) Pause(t testing.TB) {
	t.Helper()
	n.signal(t, syscall.SIGSTOP)
	if err := stand(n.process); err != nil {
		t.Fatalf("pause Cassandra at %s: %v", n.Address, err)
	}
}

// Resume continues a paused server.
func (n *CassandraNode) Resume(t testing.TB) { n.signal(t, syscall.SIGCONT) }

func (n *CassandraNode) signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(n.process, signal); err != nil {
		t.Fatalf("send signal %v to Cassandra at %s: %v", signal, n.Address, err)
	}
}

// startCassandra starts a node on a leash, and returns when it answers. Ports are that for clients and that for other
// nodes.
func startCassandra(host, seed string, ports []string, settings string) (_ *CassandraNode, err error) {
	script, err := cassandraScript()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "holdfast-cassandra-")
	if err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	extra := filepath.Join(folder, "settings.yaml")
	if err := os.WriteFile(extra, []byte(settings), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("write settings: %w", err), os.RemoveAll(folder))
	}
	hold, leash, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a leash: %w", err), os.RemoveAll(folder))
	}
	defer hold.Close()
	n := &CassandraNode{Address: net.JoinHostPort(host, ports[0]), leash: leash}
	n.command = exec.Command("sh", script, folder, ports[0], host, seed)
	n.command.Env = append(os.Environ(), "CASSANDRA_LEASH=1", "CASSANDRA_STORAGE_PORT="+ports[1], "CASSANDRA_SETTINGS="+extra)
	n.command.Stdin = hold
	// In a separate process group: a typed interrupt is for the tests, whose end is the end of the server.
	n.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	said, err := n.command.StdoutPipe()
	if err == nil {
		n.command.Stderr = n.command.Stdout
		err = n.command.Start()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", script, err), leash.Close(), os.RemoveAll(folder))
	}
	if n.process, err = awaitCassandra(said); err != nil {
		closed := leash.Close()
		return nil, errors.Join(err, closed, n.command.Wait())
	}
	return n, said.Close()
}

// awaitCassandra reads the script's output until the server answers, and returns the server's process.
func awaitCassandra(said io.Reader) (process int, err error) {
	var args strings.Builder
	for lines := bufio.NewScanner(said); lines.Scan(); {
		if n, _ := fmt.Sscanf(lines.Text(), "cassandra pid %d answers on", &process); n == 1 {
			return process, nil
		}
		fmt.Fprintln(&args, lines.Text())
	}
	return 0, fmt.Errorf("the server has ended before it answered; it says: %s", args.String())
}

// cassandraScript finds the script that starts a node: tests run in the folder of their package, which is below that of
// the module.
func cassandraScript() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("look for tools/cassandra/start: %w", err)
	}
	for {
		script := filepath.Join(folder, "tools", "cassandra", "start")
		if _, err := os.Stat(script); err == nil {
			return script, nil
		}
		above := filepath.Dir(folder)
		if above == folder {
			return "", errors.New("tools/cassandra/start is in no folder above the working folder: run the tests in the source tree")
		}
		folder = above
	}
}

// freePorts finds ports on which no process listens, on any of the hosts.
func freePorts(count int, hosts ...string) ([]string, error) {
	var held []io.Closer
	defer func() {
		for _, h := range held {
			_ = h.Close() // it has served its purpose
		}
	}()
	var ports []string
	for range 100 * count {
		first, err := net.Listen("tcp", hosts[0]+":0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		held = append(held, first)
		_, port, err := net.SplitHostPort(first.Addr().String())
		for i := 1; i < len(hosts) && err == nil; i++ {
			var other net.Listener
			if other, err = net.Listen("tcp", hosts[i]+":"+port); err == nil {
				held = append(held, other)
			}
		}
		if err == nil {
			ports = append(ports, port)
		}
		if len(ports) == count {
			return ports, nil
		}
	}
	return nil, fmt.Errorf("find %d ports that are free at each of %v: none left", count, hosts)
}
