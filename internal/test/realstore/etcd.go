package realstore

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/test/realstore/recipe"
)

// Etcd starts an etcd, and returns its URL.
func Etcd(t testing.TB) string {
	t.Helper()
	return StartEtcd(t).URL()
}

// StartEtcd starts a cluster of one etcd. The arguments in more are appended to its command, as
// "--quota-backend-bytes", "16777216".
func StartEtcd(t testing.TB, more ...string) *Server {
	t.Helper()
	return startEtcd(t, kind{
		ping: func(ctx context.Context, address string) error { return pingEtcd(ctx, "http://"+address, nil) },
		url:  func(address string) string { return "etcd://" + address },
	}, func(string, []string) []string { return more })
}

// StartEtcdTLS starts a cluster of one etcd whose clients use TLS.
func StartEtcdTLS(t testing.TB, secure TLS) *Server {
	t.Helper()
	clientTLS := secure.clientConfig(t)
	return startEtcd(t, kind{
		tls:  &secure,
		ping: func(ctx context.Context, address string) error { return pingEtcd(ctx, "https://"+address, clientTLS) },
		url:  func(address string) string { return "etcds://" + address },
	}, func(folder string, ports []string) []string {
		own := "https://127.0.0.1:" + ports[0] // of a flag that stands there twice the second one counts
		args := []string{"--listen-client-urls", own, "--advertise-client-urls", own, "--cert-file", certFile(folder), "--key-file", keyFile(folder)}
		if secure.Mutual {
			args = append(args, "--client-cert-auth", "--trusted-ca-file", caFile(folder))
		}
		return args
	})
}

// startEtcd adds the common settings.
func startEtcd(t testing.TB, k kind, more func(folder string, ports []string) []string) *Server {
	t.Helper()
	program, err := findEtcd(t.Context())
	if err != nil {
		Lacks(t, err)
	}
	r := recipe.Etcd()
	k.name, k.ports, k.drop, k.end = "etcd", r.Ports, r.Drop, syscall.SIGKILL
	k.commands = func(folder string, ports []string) [][]string {
		return r.Commands(program, folder, ports, append([]string{"--unsafe-no-fsync"}, more(folder, ports)...)...)
	}
	return start(t, k)
}

// pingEtcd queries its health, which it reports once there is a leader.
func pingEtcd(ctx context.Context, url string, secure *tls.Config) error {
	ctx, cancel := context.WithTimeout(ctx, pingLimit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/health", nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: secure}
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
