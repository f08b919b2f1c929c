package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/certificate"
	"github.com/holdfast-locks/holdfast/internal/transport/secure"
)

// WaitingConfig configures a Waiting. Why and Identity are required.
type WaitingConfig struct {
	// Why returns a sentence that says why this process serves nothing yet. It is called for every refusal.
	Why func() string
	// Identity returns this process's future identity, for the hosts of HTTP requests.
	Identity func() Identity
	// Limits, Hosts, Certificates and Logger are as in Config.
	Limits       Limits
	Hosts        []string
	Certificates *certificate.Store
	Logger       *slog.Logger
}

// Waiting answers on the ports of a process that is not a member yet, because it does not know its spaces: it is alive
// (/healthz), it is not ready (/readyz, grpc.health.v1), and refuses every other call with the reason. It reads no
// call. After it is stopped its listeners are still open, for a Server. One goroutine calls its methods.
type Waiting struct {
	config   WaitingConfig
	hosts    hosts
	observer *Observer // its connections are bounded; its counts are not shown
	doors    *doors
	rpc      *grpc.Server
	web      *http.Server

	ending context.Context
	end    context.CancelFunc

	lent    []*lent
	serving sync.WaitGroup
}

// NewWaiting returns a Waiting that does not answer yet. The error names the invalid field of c.
func NewWaiting(c WaitingConfig) (*Waiting, error) {
	switch {
	case c.Why == nil:
		return nil, errors.New("server: Why is nil; say why nothing is served yet")
	case c.Identity == nil:
		return nil, errors.New("server: Identity is nil; say who this process is to be")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if err := c.Limits.resolve(); err != nil {
		return nil, err
	}
	w := &Waiting{
		config: c, hosts: newHosts(Config{Identity: c.Identity, Hosts: c.Hosts}), observer: NewObserver(nil), doors: quietDoors(c.Limits, c.Logger),
	}
	w.ending, w.end = context.WithCancel(context.Background())
	w.rpc = grpc.NewServer(
		grpc.MaxHeaderListSize(maxHeaderBytes), grpc.MaxConcurrentStreams(maxStreams), grpc.ConnectionTimeout(c.Limits.Header),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: c.Limits.Idle, Time: pingAfter, Timeout: c.Limits.Header}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingAtMost, PermitWithoutStream: true}),
		grpc.StaticStreamWindowSize(64<<10), grpc.StaticConnWindowSize(connectionWindow), grpc.WaitForHandlers(true),
		grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error { return api.ToStatus(w.refusal()) }),
		grpc.Creds(secure.Accept(secure.Door{Certificates: c.Certificates, Logger: c.Logger})),
	)
	health.RegisterHealthServer(w.rpc, &waitingHealth{ending: w.ending})
	w.web = &http.Server{
		Handler: w, ReadHeaderTimeout: c.Limits.Header, ReadTimeout: c.Limits.Body, WriteTimeout: c.Limits.Body, IdleTimeout: c.Limits.Idle,
		MaxHeaderBytes: maxHTTPHeader, ErrorLog: quietLog(c.Logger),
	}
	return w, nil
}

func (w *Waiting) refusal() error { return &holdfast.UnavailableError{Why: w.config.Why()} }

// AnswerGRPC begins to answer the connections of l, a TCP or Unix listener.
func (w *Waiting) AnswerGRPC(l net.Listener) error {
	return w.answer(l, "grpc", func(l net.Listener) error {
		if err := w.rpc.Serve(l); !errors.Is(err, grpc.ErrServerStopped) {
			return err
		}
		return nil
	})
}

// AnswerHTTP begins to answer the connections of l, a TCP or Unix listener.
func (w *Waiting) AnswerHTTP(l net.Listener) error {
	return w.answer(l, "http", func(l net.Listener) error {
		if w.config.Certificates != nil {
			l = tls.NewListener(l, w.config.Certificates.Web())
		}
		if err := w.web.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
}

func (w *Waiting) answer(l net.Listener, port string, serve func(net.Listener) error) error {
	timed, is := l.(interface{ SetDeadline(time.Time) error })
	if !is {
		return fmt.Errorf("server: a %T cannot be handed on to a Server", l)
	}
	own := &lent{Listener: l, timed: timed}
	own.over, own.close = context.WithCancel(context.Background())
	w.lent = append(w.lent, own)
	within := bound(own, w.config.Limits.Connections, w.observer).as(port).among(w.doors)
	w.serving.Go(func() {
		if err := serve(within); err != nil {
			w.config.Logger.Error("a port is open but not served yet", "port", port, "address", l.Addr(), "error", err)
		}
	})
	return nil
}

// ServeHTTP answers one request.
func (w *Waiting) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	header := to.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	refused := w.hosts.check(r)
	if refused == nil {
		refused = checkOrigin(r)
	}
	switch {
	case refused != nil:
	case r.URL.Path == "/healthz":
		w.write(to, r, http.StatusOK, plainText, []byte("ok\n"))
		return
	case r.URL.Path == "/readyz":
		header.Set("Retry-After", "1")
		w.write(to, r, http.StatusServiceUnavailable, plainText, []byte(w.config.Why()+"\n"))
		return
	default:
		header.Set("Retry-After", "1")
		refused = w.refusal()
	}
	document := api.NewProblem(refused)
	w.write(to, r, int(document.Status), "application/problem+json", append(api.NewJSON().Append(nil, document), '\n'))
}

func (w *Waiting) write(to http.ResponseWriter, r *http.Request, status int, contentType string, body []byte) {
	to.Header().Set("Content-Type", contentType)
	to.WriteHeader(status)
	if _, err := to.Write(body); err != nil {
		w.config.Logger.Debug("an answer was dropped", "path", r.URL.Path, "error", err)
	}
}

// Shutdown answers the calls under way, and closes the rest when ctx ends. Nothing of this Waiting runs afterwards, and
// its listeners are open. The error reports a listener that can no longer be used.
func (w *Waiting) Shutdown(ctx context.Context) error {
	w.end()
	done := make(chan struct{})
	go func() {
		w.rpc.GracefulStop()
		close(done)
	}()
	err := w.web.Shutdown(ctx)
	if err != nil {
		err = w.web.Close()
	}
	select {
	case <-done:
	case <-ctx.Done():
		w.rpc.Stop()
		<-done
	}
	w.serving.Wait()
	for _, l := range w.lent {
		err = errors.Join(err, l.timed.SetDeadline(time.Time{}))
	}
	return err
}

// lent is a listener that stays open when it is closed: it then accepts nothing until its deadline is reset.
type lent struct {
	net.Listener
	timed interface{ SetDeadline(time.Time) error }
	over  context.Context
	close context.CancelFunc
}

// Accept returns the next connection.
func (l *lent) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil && l.over.Err() != nil {
		return nil, net.ErrClosed
	}
	return conn, err
}

// Close ends Accept.
func (l *lent) Close() error {
	l.close()
	return l.timed.SetDeadline(time.Unix(1, 0))
}

// waitingHealth reports that nothing is served.
type waitingHealth struct {
	health.UnimplementedHealthServer
	ending context.Context
}

// Check returns the current health of a service.
func (*waitingHealth) Check(context.Context, *health.HealthCheckRequest) (*health.HealthCheckResponse, error) {
	return &health.HealthCheckResponse{Status: health.HealthCheckResponse_NOT_SERVING}, nil
}

// List returns the health of all services.
func (*waitingHealth) List(context.Context, *health.HealthListRequest) (*health.HealthListResponse, error) {
	not := &health.HealthCheckResponse{Status: health.HealthCheckResponse_NOT_SERVING}
	return &health.HealthListResponse{Statuses: map[string]*health.HealthCheckResponse{"": not}}, nil
}

// Watch sends the health of a service, and ends when this Waiting does: the watcher asks again.
func (h *waitingHealth) Watch(_ *health.HealthCheckRequest, stream grpc.ServerStreamingServer[health.HealthCheckResponse]) error {
	if err := stream.Send(&health.HealthCheckResponse{Status: health.HealthCheckResponse_NOT_SERVING}); err != nil {
		return err
	}
	select {
	case <-stream.Context().Done():
	case <-h.ending.Done():
	}
	return api.ToStatus(&holdfast.UnavailableError{Why: "this process begins to serve, or ends"})
}
