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

// Option changes how a Client or an Admin works.
type Option func(*settings)

type settings struct {
	ttl          time.Duration
	name         string
	tls          *tls.Config
	member       string // this process is a member with that name; "" where it is a client alone
	files        *Files
	store        *certificate.Store // of either; nil in plain text
	space        string
	session      string
	secret       string
	resume       bool
	direct       bool
	late         func(remaining time.Duration)
	links        *links // the connections that the Client may share
	patience     time.Duration
	renewed      func()
	keep         bool
	log          *slog.Logger
	clock        clock.Clock
	goodbye      time.Duration // how long Close waits for the end of its session
	goodbyeEmpty time.Duration // the same where no member is connected and no name is to be freed
	// draw draws a length of time below another.
	draw func(below time.Duration) time.Duration
	// jitter draws what is added to half of a pause before all addresses are asked again, from 0 to that half.
	jitter func(half time.Duration) time.Duration
}

// drawBelow draws a length of time below another, which may be too short to draw from.
func drawBelow(below time.Duration) time.Duration { return rand.N(max(below, 1)) }

// TTL asks for a session that lives for d after its last heartbeat: the longer, the
// fewer heartbeats, and the later a lost client's locks are free. The server may
// answer less. Zero, the default, means the server's default.
func TTL(d time.Duration) Option { return func(s *settings) { s.ttl = d } }

// Name says to people which client this is; it is shown where locks are listed. The
// default is the program, the host and the process id.
func Name(text string) Option { return func(s *settings) { s.name = text } }

// TLS encrypts the connection. Without it, and without TLSFiles, the connection is not
// encrypted; one to a socket of this machine never is.
func TLS(config *tls.Config) Option { return func(s *settings) { s.tls = config } }

// Member says that this process is a member of the cluster with that name, which its certificate of TLS proves: the clients'
// authority need not have signed it, and the members' certificates need not be for the host that is dialled. It is for
// members that have no part in a space; package node does so by itself. Without TLS it means nothing.
func Member(name string) Option { return func(s *settings) { s.member = name } }

// Files are the PEM files of TLS.
type Files struct {
	// CA are the authorities that sign the members' certificates. Empty means those that
	// the machine trusts.
	CA string
	// Cert and Key are this client's certificate with its chain, and its private key: its
	// identity to the members. Both empty means no identity.
	Cert, Key string
	// ServerName is what the members' certificates must be for. Empty means the host that
	// is dialled.
	ServerName string
}

// TLSFiles encrypts the connection with what files hold, and reads them again when they
// have changed: a new connection is made with what is there then, or, while that does not
// do, with what was there before. What cannot be read now is the error of Dial.
func TLSFiles(files Files) Option { return func(s *settings) { s.files = &files } }

// Space is the lockspace of the Client's own methods. The default is the default
// space.
func Space(name string) Option { return func(s *settings) { s.space = name } }

// Resume takes over a session that another Client has opened, here or in another process, by its public id and
// its secret; Dial then returns an ErrLost if there is no such session any more. The
// locks that the session holds stay held without a gap while it is renewed, and Close ends them
// with it.
//
// The Client that has used the session before ends by that: its locks have ended for it, its calls fail, and it does not
// connect again; the reason is [holdfast.EndedByAnother]. Its member lets it know at once; if it cannot be reached, it ends at its
// deadline and does not get the session back after that. What it waits for is not granted. So a process hands its session
// over when it gives both to another one, and may Close its Client as soon as that has resumed it, or leave it as it is:
// neither ends a lock. Until the deadline of the earlier Client has passed, which may not have heard, the names that it held are granted
// to no other session: a Close of the later Client returns at once, and frees them at that deadline, and so does a release of one
// by an Admin, which is answered then.
func Resume(session, secret string) Option {
	return func(s *settings) { s.session, s.secret, s.resume = session, secret, true }
}

// Direct goes to the member that is the authority: one round trip for a lock
// instead of two, at the price that the loss of that member is also the loss of the
// locks. The address is the one under which the members know it.
func Direct() Option { return func(s *settings) { s.direct = true } }

// Logger gets a line when the connection is made or has ended, when no heartbeat is
// acknowledged, when the session is lost or taken over, and when the server shortens the
// ttl or refuses an operation. The default discards them.
func Logger(log *slog.Logger) Option { return func(s *settings) { s.log = log } }

// OnLate calls f when no heartbeat has been acknowledged for half of the ttl, or for up to three quarters where the answers
// before took long or this process could not have read one, with
// what remains until the session's deadline; once, until a heartbeat is
// acknowledged again. f runs on a goroutine of its own. It is not called for a session
// that has ended by then: where this process did not run for a while, only the end is
// reported. But the session may end while f runs.
func OnLate(f func(remaining time.Duration)) Option { return func(s *settings) { s.late = f } }

// OnRenewed calls f when a heartbeat of the session has been acknowledged, so that
// [Client.Deadline] has moved. f runs on a goroutine of its own. It is for a caller that
// hands the deadline on, as to a process that watches over it.
func OnRenewed(f func()) Option { return func(s *settings) { s.renewed = f } }

// Patience lets Dial wait for as long as its context allows once a member has answered that it
// cannot serve yet, and gives up before: after d where no address has answered at all, and
// after 2 s where each of them refuses the connection. Zero, the default, means no such
// limit.
func Patience(d time.Duration) Option { return func(s *settings) { s.patience = d } }

// KeepLost leaves it to Close to let the authority know of a lock that has ended
// other than by Unlock while its session lives on: broken by an operator, or at
// its hold limit. By default the authority hears of it at once, so that the name is free as soon
// as it can be. KeepLost is for a caller that has to stop something outside this process
// first; how long the authority waits for Close does not depend on it.
func KeepLost() Option { return func(s *settings) { s.keep = true } }

// resolve applies the options and checks them.
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
	if s.resume && (s.session == "" || s.secret == "") {
		return nil, fmt.Errorf("%w: resume needs both the session's id and its secret", holdfast.ErrConflict)
	}
	if err := s.secure(); err != nil {
		return nil, err
	}
	return s, errors.Join(holdfast.CheckText("name of the client", s.name), holdfast.CheckSpace(s.space))
}

// secure reads the material of TLS. The files' folder may not be this process's for ever,
// so their names are made whole.
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

// program says who this process is.
func program() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s@%s pid %d", filepath.Base(os.Args[0]), host, os.Getpid())
}

// dialOptions returns the options of every gRPC connection. Attempt is how long it may take to make one.
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
		// By its own defaults gRPC would refuse calls for up to two minutes after a
		// member is back, without looking again.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: leastBackoff, Multiplier: 2, Jitter: 0.2, MaxDelay: mostBackoff},
			MinConnectTimeout: attempt,
		}),
		// Where these are given gRPC does not measure the connection's bandwidth, for
		// which it would send a ping with nearly every frame.
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

// introduceCall says in a call who calls, where that is a member.
func (s *settings) introduceCall(ctx context.Context, method string, request, answer any, conn *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption) error {
	return call(metadata.AppendToOutgoingContext(ctx, secure.MemberKey, s.member), method, request, answer, conn, options...)
}

// introduceStream is introduceCall for a stream.
func (s *settings) introduceStream(ctx context.Context, of *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
	return open(metadata.AppendToOutgoingContext(ctx, secure.MemberKey, s.member), of, conn, method, options...)
}

// How long gRPC waits before it makes a connection again.
const (
	leastBackoff = 10 * time.Millisecond
	mostBackoff  = time.Second
)

const (
	maxReceived = 16 << 20 // of a message of the server, in bytes
	window      = 1 << 20  // of what the server may send before it is read
)
