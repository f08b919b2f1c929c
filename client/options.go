package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/metadata"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/certificate"
	"github.com/holdfast-locks/holdfast/internal/client/session"
	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/internal/transport/secure"
)

// Option configures a Client or an Admin.
type Option func(*settings)

type settings struct {
	ttl          time.Duration
	name         string
	tls          *tls.Config
	member       string // the member that this process is; "" if it is only a client
	files        *Files
	store        *certificate.Store                    // from tls or files; nil in plain text
	token        func(context.Context) (string, error) // nil without a token
	space        string
	session      string
	secret       string
	resume       bool
	succeeds     bool   // as the client with the number
	number       uint64 // identifies the client among others that use its session
	direct       bool
	late         func(remaining time.Duration)
	links        *links // the connections that the Client may share
	patience     time.Duration
	renewed      func()
	keep         bool
	log          *slog.Logger
	clock        clock.Clock
	goodbye      time.Duration // how long Close waits for the end of its session
	goodbyeEmpty time.Duration // the same if no member is connected and there is no name to free
	// draw returns a random duration below another.
	draw func(below time.Duration) time.Duration
	// jitter returns a random duration from 0 to half, added to half of the pause before the Client retries all
	// addresses.
	jitter func(half time.Duration) time.Duration
}

// drawBelow returns a random duration below another, and accepts one that is too short to draw from.
func drawBelow(below time.Duration) time.Duration { return rand.N(max(below, 1)) }

// TTL requests a session that lives for d after its last heartbeat. A longer ttl needs fewer heartbeats, but frees a
// lost client's locks later. The server may grant less. Zero, the default, means the server's default.
func TTL(d time.Duration) Option { return func(s *settings) { s.ttl = d } }

// Name sets the client's name for people; listings of locks show it. The default is the program, the host and the
// process id.
func Name(text string) Option { return func(s *settings) { s.name = text } }

// TLS encrypts the connection. Without it, and without TLSFiles, the connection is in plain text; a connection to a
// local socket always is. The lowest version is that of config.MinVersion, or TLS 1.3 if that is zero; TLS 1.2 is spoken
// with AEAD suites alone unless config.CipherSuites names others.
func TLS(config *tls.Config) Option { return func(s *settings) { s.tls = config } }

// Member declares that this process is the cluster member with that name; its TLS certificate proves it. The clients'
// authority need not have signed that certificate, and the members' certificates need not be for the dialled host. It
// is for members that have no role in a space; package node sets it automatically. It has no effect without TLS.
func Member(name string) Option { return func(s *settings) { s.member = name } }

// Files are the PEM files for TLS.
type Files struct {
	// CA is the file of the authorities that sign the members' certificates. Empty means those that the machine trusts.
	CA string
	// Cert and Key are this client's certificate with its chain, and its private key: its identity to the members. Both
	// empty means no identity.
	Cert, Key string
	// ServerName is the name that the members' certificates must be for. Empty means the dialled host.
	ServerName string
}

// TLSFiles encrypts the connection with certificates from files, and reloads changed files: a new connection uses the
// new contents or, if they are invalid, the previous ones. Dial fails if the files cannot be read at first.
func TLSFiles(files Files) Option { return func(s *settings) { s.files = &files } }

// Space sets the lockspace of the Client's own methods. The default is the default space.
func Space(name string) Option { return func(s *settings) { s.space = name } }

// Resume takes over a session that another Client has opened, in this process or another, by its public id and its
// secret. Dial returns an ErrLost if the session no longer exists. The session's locks stay held without a gap while it
// is renewed, and Close ends them with it.
//
// Resume ends the Client that used the session before: its locks end for it, its calls fail, and it does not reconnect;
// the reason is [holdfast.EndedByAnother]. Its member notifies it at once. If it cannot be reached, it ends at its
// deadline and does not get the session back. Its waiting requests are not granted. To hand its session over, a process
// passes the id and secret to another one. After the other has resumed the session, the first may close its Client or
// leave it open: neither ends a lock. The earlier Client may not have been notified. Until its deadline has passed, the
// names it held are granted to no other session: a Close of the later Client returns at once and frees them at that
// deadline. A release of such a name by an Admin is also answered at that deadline.
func Resume(session, secret string) Option {
	return func(s *settings) { s.session, s.secret, s.resume = session, secret, true }
}

// Direct connects to the member that is the authority: one round trip for a lock instead of two, but if that member is
// lost, its locks are lost too. The address is the one under which the members know it.
func Direct() Option { return func(s *settings) { s.direct = true } }

// Logger sets the log. It gets a line when the connection is made or ends, when no heartbeat is acknowledged, when the
// session is lost or taken over, and when the server shortens the ttl or refuses an operation. The default discards
// them.
func Logger(log *slog.Logger) Option { return func(s *settings) { s.log = log } }

// OnLate calls f with the time left until the session's deadline when no heartbeat has been acknowledged for half of
// the ttl, or for up to three quarters if earlier answers were slow or this process could not have read one. It calls f
// once, until a heartbeat is acknowledged again. f runs on its own goroutine. It is not called for a session that has
// already ended: if this process did not run for a while, only the end is reported. The session may still end while f
// runs.
func OnLate(f func(remaining time.Duration)) Option { return func(s *settings) { s.late = f } }

// OnRenewed calls f when a heartbeat of the session has been acknowledged, which moves [Client.Deadline]. f runs on its
// own goroutine. It is for a caller that passes the deadline on, for example to a watchdog process.
func OnRenewed(f func()) Option { return func(s *settings) { s.renewed = f } }

// Patience lets Dial wait for as long as its context allows once a member has answered that it cannot serve yet. Dial
// gives up earlier: after d if no address has answered at all, and after 2 s if every address refuses the connection.
// Zero, the default, means no such limit.
func Patience(d time.Duration) Option { return func(s *settings) { s.patience = d } }

// KeepLost delays the release of a lock that ends other than by Unlock while its session lives on (broken by an
// operator, or at its hold limit) until Close. By default the Client reports the end to the authority at once, so that
// the name is free as soon as possible. KeepLost is for a caller that first has to stop something outside this process;
// it does not change how long the authority waits.
func KeepLost() Option { return func(s *settings) { s.keep = true } }

// resolve applies and checks the options.
func resolve(options []Option) (*settings, error) {
	s := &settings{space: holdfast.DefaultSpace, goodbye: session.CloseLimit, goodbyeEmpty: closeLimitEmpty, draw: drawBelow, jitter: drawBelow, links: ours}
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
	if err := s.checkResume(); err != nil {
		return nil, err
	}
	if s.number == 0 {
		s.number = max(1, rand.Uint64())
	}
	if err := s.secure(); err != nil {
		return nil, err
	}
	return s, errors.Join(holdfast.CheckText("name of the client", s.name), holdfast.CheckSpace(s.space))
}

// secure loads the TLS material. It makes the file names absolute, because the working directory may change.
func (s *settings) secure() (err error) {
	switch {
	case s.files != nil && s.tls != nil:
		return fmt.Errorf("%w: TLS and TLSFiles are both given", holdfast.ErrConflict)
	case s.tls != nil:
		s.store, err = certificate.Fixed(s.tls)
	case s.files != nil:
		from := certificate.Files{Cert: s.files.Cert, Key: s.files.Key, Members: s.files.CA}
		if (from.Cert == "") != (from.Key == "") {
			return fmt.Errorf("%w: a certificate needs its private key, and the other way round: Cert is %q, Key is %q", holdfast.ErrConflict, from.Cert, from.Key)
		}
		for _, path := range []*string{&from.Cert, &from.Key, &from.Members} {
			if *path != "" && err == nil {
				*path, err = filepath.Abs(*path)
			}
		}
		if err == nil {
			s.store, err = certificate.Open(certificate.Options{Files: from, Logger: s.log})
		}
	}
	if err != nil {
		return fmt.Errorf("read the TLS files: %w", err)
	}
	return nil
}

// program returns the default name of this process.
func program() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s@%s pid %d", filepath.Base(os.Args[0]), host, os.Getpid())
}

// dialOptions returns the options of every gRPC connection. attempt is the time limit for making one.
func (s *settings) dialOptions(attempt time.Duration) []grpc.DialOption {
	serverName := ""
	switch {
	case s.files != nil:
		serverName = s.files.ServerName
	case s.tls != nil:
		serverName = s.tls.ServerName
	}
	credentials := secure.Client(s.store, serverName)
	if s.isMember() {
		credentials = secure.Calling(s.store)
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(credentials),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxReceived)),
		// With its own defaults gRPC would fail calls for up to two minutes after a member is back, without retrying.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: leastBackoff, Multiplier: 2, Jitter: 0.2, MaxDelay: mostBackoff},
			MinConnectTimeout: attempt,
		}),
		// With static windows gRPC does not measure the connection's bandwidth, for which it would send a ping with
		// nearly every frame.
		grpc.WithStaticStreamWindowSize(window),
		grpc.WithStaticConnWindowSize(window),
		grpc.WithDisableServiceConfig(),
		grpc.WithNoProxy(),
	}
	if s.isMember() {
		options = append(options, grpc.WithUnaryInterceptor(s.introduceCall), grpc.WithStreamInterceptor(s.introduceStream))
	}
	return options
}

// isMember reports whether this process proves that it is a member.
func (s *settings) isMember() bool { return s.member != "" && s.store != nil }

// introduceCall adds the caller's identity to a call, if the caller is a member.
func (s *settings) introduceCall(ctx context.Context, method string, request, answer any, conn *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption) error {
	return call(metadata.AppendToOutgoingContext(ctx, secure.MemberKey, s.member), method, request, answer, conn, options...)
}

// introduceStream is introduceCall for a stream.
func (s *settings) introduceStream(ctx context.Context, of *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
	return open(metadata.AppendToOutgoingContext(ctx, secure.MemberKey, s.member), of, conn, method, options...)
}

// gRPC's pauses before it reconnects.
const (
	leastBackoff = 10 * time.Millisecond
	mostBackoff  = time.Second
)

const (
	maxReceived = 16 << 20 // maximum size of a server message, in bytes
	window      = 1 << 20  // bytes that the server may send before they are read
)
