package client

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/clock"
)

// Option changes how a Client or an Admin works.
type Option func(*settings)

type settings struct {
	ttl     time.Duration
	name    string
	tls     *tls.Config
	space   string
	session string
	secret  string
	resume  bool
	direct  bool
	late    func(remaining time.Duration)
	keep    bool
	log     *slog.Logger
	clock   clock.Clock
	goodbye time.Duration // how long Close waits for the end of its session
}

// TTL asks for a session that lives for d after its last heartbeat: the longer, the
// fewer heartbeats, and the later a lost client's locks are free. The server may
// answer less. Zero, the default, means the server's default.
func TTL(d time.Duration) Option { return func(s *settings) { s.ttl = d } }

// Name says to people who this client is; it is shown wherever locks are listed.
// The default is the program, the host and the process id.
func Name(text string) Option { return func(s *settings) { s.name = text } }

// TLS encrypts the connection. Without it the connection is not encrypted.
func TLS(config *tls.Config) Option { return func(s *settings) { s.tls = config } }

// Space is the lockspace of the Client's own methods. The default is the default
// space.
func Space(name string) Option { return func(s *settings) { s.space = name } }

// Resume takes over a session that another process has opened, by its public id and
// its secret; Dial then returns an ErrLost if there is no such session any more. The
// locks that the session holds stay held while it is renewed, and Close ends them
// with it.
func Resume(session, secret string) Option {
	return func(s *settings) { s.session, s.secret, s.resume = session, secret, true }
}

// Direct goes to the member that is the authority: one round trip for a lock
// instead of two, at the price that the loss of that member is also the loss of the
// locks. The address is the one under which the members know it.
func Direct() Option { return func(s *settings) { s.direct = true } }

// Logger gets what is worth knowing about the connection. The default is to say
// nothing.
func Logger(log *slog.Logger) Option { return func(s *settings) { s.log = log } }

// OnLate calls f when no heartbeat has been acknowledged for half of the ttl, with
// what remains until the session's deadline; once, until a heartbeat is
// acknowledged again. f runs on a goroutine of its own. It is not called for a session
// that has ended by then: where this process did not run for a while, only the end is
// told. But the session may end while f runs.
func OnLate(f func(remaining time.Duration)) Option { return func(s *settings) { s.late = f } }

// KeepLost leaves it to Close to let the authority know of a lock that has ended
// otherwise than by Unlock while its session lives on: broken by an operator, or at
// its hold limit. By default it is told at once, so that the name is free as soon as
// it can be. It is for a caller that has to stop something outside this process
// first; how long the authority waits for Close does not depend on it.
func KeepLost() Option { return func(s *settings) { s.keep = true } }

// withClock replaces the clock that deadlines are counted on.
func withClock(c clock.Clock) Option { return func(s *settings) { s.clock = c } }

// withGoodbye replaces the time that Close waits.
func withGoodbye(d time.Duration) Option { return func(s *settings) { s.goodbye = d } }

// resolve applies the options and checks them.
func resolve(options []Option) (*settings, error) {
	s := &settings{space: holdfast.DefaultSpace, goodbye: closeLimit}
	for _, option := range options {
		option(s)
	}
	if s.space == "" {
		s.space = holdfast.DefaultSpace
	}
	if s.name == "" {
		s.name = program()
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.clock == nil {
		s.clock = clock.Real()
	}
	if s.ttl < 0 {
		return nil, fmt.Errorf("%w: ttl %v: want 0 for the server's default, or more", holdfast.ErrConflict, s.ttl)
	}
	if s.resume && (s.session == "" || s.secret == "") {
		return nil, fmt.Errorf("%w: resume needs both the session's id and its secret", holdfast.ErrConflict)
	}
	return s, errors.Join(holdfast.CheckText("name of the client", s.name), holdfast.CheckSpace(s.space))
}

// program says who this process is.
func program() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s@%s pid %d", filepath.Base(os.Args[0]), host, os.Getpid())
}

// dialOptions is what every gRPC connection is made with.
func (s *settings) dialOptions() []grpc.DialOption {
	transport := insecure.NewCredentials()
	if s.tls != nil {
		transport = credentials.NewTLS(s.tls)
	}
	return []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxReceived)),
		// By its own defaults gRPC would refuse calls for up to two minutes after a
		// member is back, without looking again.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: minPause, Multiplier: 2, Jitter: 0.2, MaxDelay: maxPause},
			MinConnectTimeout: maxAttempt,
		}),
		// Where these are given gRPC does not measure the connection's bandwidth, for
		// which it would send a ping with nearly every frame.
		grpc.WithStaticStreamWindowSize(window),
		grpc.WithStaticConnWindowSize(window),
		grpc.WithDisableServiceConfig(),
		grpc.WithNoProxy(),
	}
}

const (
	maxReceived = 16 << 20 // of a message of the server, in bytes
	window      = 1 << 20  // of what the server may send before it is read
)
