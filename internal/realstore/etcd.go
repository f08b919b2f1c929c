package realstore

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/realstore/recipe"
)

// Etcd starts an etcd, and returns its URL.
func Etcd(t testing.TB) string {
	t.Helper()
	return StartEtcd(t).URL()
}

// StartEtcd starts a cluster of one etcd. The words in more stand behind those of its command,
// as "--quota-backend-bytes", "16777216".
func StartEtcd(t testing.TB, more ...string) *Server {
	t.Helper()
	program, err := findEtcd(t.Context())
	if err != nil {
		unavailable(t, err)
	}
	r := recipe.Etcd()
	return start(t, kind{
		name: "etcd", ports: r.Ports, drop: r.Drop, end: syscall.SIGKILL, ask: askEtcd,
		url: func(address string) string { return "etcd://" + address },
		commands: func(folder string, ports []string) [][]string {
			return r.Commands(program, folder, ports, append([]string{"--unsafe-no-fsync"}, more...)...)
		},
	})
}

// askEtcd asks for its health, which it tells once there is a leader.
func askEtcd(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/health", nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK || !strings.Contains(string(text), `"true"`) {
		return fmt.Errorf("it answers %s: %q", response.Status, text)
	}
	return nil
}
