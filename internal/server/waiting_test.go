package server_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/server"
	"github.com/holdfast-locks/holdfast/internal/socket"
)

// notYet waits, and says why.
func notYet(t *testing.T, why string) *server.Waiting {
	t.Helper()
	waiting, err := server.NewWaiting(server.WaitingConfig{
		Why:      func() string { return why },
		Identity: func() server.Identity { return server.Identity{Member: &schema.Member{Name: "g"}} },
	})
	noError(t, err)
	return waiting
}

// servesOn wants a listener to accept connections.
func servesOn(t *testing.T, l net.Listener) {
	t.Helper()
	other, err := net.Dial(l.Addr().Network(), l.Addr().String())
	noError(t, err)
	conn, err := l.Accept()
	noError(t, err)
	noError(t, errors.Join(conn.Close(), other.Close(), l.Close()))
}

// TestWaitingOverHTTP: the port of a process that is no member yet says so, for every call, and is a Server's afterwards.
func TestWaitingOverHTTP(t *testing.T) {
	t.Parallel()
	const why = "m1: connection refused"
	waiting := notYet(t, why)
	web, err := net.Listen("tcp", "127.0.0.1:0")
	noError(t, err)
	noError(t, waiting.AnswerHTTP(web))
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	ask := func(method, path, host string) (int, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, "http://"+web.Addr().String()+path, strings.NewReader("{}"))
		noError(t, err)
		request.Host = host
		answer, err := transport.RoundTrip(request)
		noError(t, err)
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		noError(t, err)
		return answer.StatusCode, string(body)
	}
	if status, body := ask("GET", "/healthz", ""); status != 200 || body != "ok\n" {
		t.Errorf("healthz: %d %q", status, body)
	}
	if status, body := ask("GET", "/readyz", ""); status != 503 || body != why+"\n" {
		t.Errorf("readyz: %d %q", status, body)
	}
	for _, path := range []string{"/v1/status", "/v1/spaces/default/acquire", "/metrics", "/nothing"} {
		if status, body := ask("POST", path, ""); status != 503 || !strings.Contains(body, `"code":"unavailable"`) || !strings.Contains(body, `"why":"`+why) {
			t.Errorf("%s: %d %q", path, status, body)
		}
	}
	if status, body := ask("GET", "/readyz", "elsewhere.example"); status != 403 {
		t.Errorf("for another host: %d %q", status, body)
	}
	noError(t, waiting.Shutdown(t.Context()))
	servesOn(t, web)
}

// TestWaiting is TestWaitingOverHTTP for gRPC. What watches the health does not hold up the end.
func TestWaiting(t *testing.T) {
	t.Parallel()
	const why = "m1: connection refused"
	waiting, path := notYet(t, why), filepath.Join(t.TempDir(), "s")
	l, err := socket.Listen(path, 0o600)
	noError(t, err)
	noError(t, waiting.AnswerGRPC(l))
	admin, err := client.DialAdmin("unix://" + path)
	noError(t, err)
	defer func() { noError(t, admin.Close()) }()
	_, err = admin.Status(t.Context())
	if !errors.Is(err, holdfast.ErrUnavailable) || !strings.Contains(err.Error(), why) {
		t.Errorf("status: %v", err)
	}
	soon, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	if _, err = client.Dial(soon, "unix://"+path); !errors.Is(err, holdfast.ErrUnavailable) || !strings.Contains(err.Error(), why) {
		t.Errorf("a client: %v", err)
	}
	conn, err := grpc.NewClient("unix://"+path, grpc.WithTransportCredentials(insecure.NewCredentials()))
	noError(t, err)
	defer func() { noError(t, conn.Close()) }()
	watching, err := health.NewHealthClient(conn).Watch(t.Context(), &health.HealthCheckRequest{})
	noError(t, err)
	if got, err := watching.Recv(); err != nil || got.GetStatus() != health.HealthCheckResponse_NOT_SERVING {
		t.Errorf("health: %v %v", got, err)
	}
	checked, err := health.NewHealthClient(conn).Check(t.Context(), &health.HealthCheckRequest{})
	if err != nil || checked.GetStatus() != health.HealthCheckResponse_NOT_SERVING {
		t.Errorf("health: %v %v", checked, err)
	}

	noError(t, waiting.Shutdown(t.Context()))
	if _, err := watching.Recv(); err == nil {
		t.Error("the watch goes on")
	}
	servesOn(t, l)
}

// TestWaitingThatEndsAtOnce: its listeners are there still when nothing has come.
func TestWaitingThatEndsAtOnce(t *testing.T) {
	t.Parallel()
	waiting := notYet(t, "")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noError(t, err)
	noError(t, waiting.AnswerGRPC(l))
	noError(t, waiting.Shutdown(t.Context()))
	servesOn(t, l)
}

// TestNewcomerIsNotified: a guest that asks one that waits as well gets that as the reason, and no other.
func TestNewcomerIsNotified(t *testing.T) {
	t.Parallel()
	waiting := notYet(t, "it asks itself")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noError(t, err)
	noError(t, waiting.AnswerGRPC(l))
	ctx, stop := context.WithCancel(t.Context())
	var got []string
	_, err = host.Adopt(ctx, host.Config{Name: "g", Listen: "127.0.0.1:0", Join: []string{l.Addr().String()}, Unanswered: func(why error) {
		got = append(got, why.Error())
		stop()
	}})
	if !errors.Is(err, context.Canceled) || !strings.HasSuffix(got[0], l.Addr().String()+": unavailable: it asks itself") {
		t.Errorf("%q, %v", got, err)
	}
	noError(t, waiting.Shutdown(t.Context()))
	noError(t, l.Close())
}
