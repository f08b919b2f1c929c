package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/test/issuer"
	"github.com/holdfast-locks/holdfast/internal/transport/secure"
)

// secretOfTest is a token of these tests.
const secretOfTest = "hft_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8AAAAA"

// sentWith returns the credentials that came with a call or stream.
func sentWith(ctx context.Context) []string {
	return metadata.ValueFromIncomingContext(ctx, "authorization")
}

// guarded notes the credentials of each call.
type guarded struct {
	schema.UnimplementedAdminServer
	mu    sync.Mutex
	calls []string
}

func (g *guarded) note(ctx context.Context, request any, info *grpc.UnaryServerInfo, serve grpc.UnaryHandler) (any, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls = append(g.calls, fmt.Sprint(filepath.Base(info.FullMethod), sentWith(ctx)))
	if info.FullMethod != healthpb.Health_Check_FullMethodName && len(sentWith(ctx)) == 0 {
		return nil, status.Error(codes.Unauthenticated, "the caller shows no credentials")
	}
	return serve(ctx, request)
}

// made returns the calls so far.
func (g *guarded) made() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.calls)
}

// Leave succeeds.
func (g *guarded) Leave(context.Context, *schema.LeaveRequest) (*schema.Left, error) {
	return &schema.Left{}, nil
}

// serve serves a member on a listener until the test ends.
func (g *guarded) serve(t *testing.T, l net.Listener, options ...grpc.ServerOption) {
	t.Helper()
	server := grpc.NewServer(append(options, grpc.UnaryInterceptor(g.note))...)
	schema.RegisterAdminServer(server, g)
	healthpb.RegisterHealthServer(server, health.NewServer())
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

func listen(t *testing.T, network, address string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// leaves makes an Admin's call.
func leaves(t *testing.T, target string, options ...Option) error {
	t.Helper()
	a, err := DialAdmin(target, options...)
	if err != nil {
		return err
	}
	return errors.Join(a.Leave(t.Context(), 0), a.Close())
}

// TestTokenOfCalls: each call of an Admin carries the token as it is then, over each kind of connection that may.
func TestTokenOfCalls(t *testing.T) {
	authority, err := issuer.New("members")
	if err != nil {
		t.Fatal(err)
	}
	own, err := authority.Issue(issuer.Request{Name: "m1", Hosts: []string{"127.0.0.1"}, Member: true})
	if err != nil {
		t.Fatal(err)
	}
	ca, err := authority.Write(t.TempDir(), "members")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "s")
	plain, encrypted, local := &guarded{}, &guarded{}, &guarded{}
	onPlain, onEncrypted := listen(t, "tcp", "127.0.0.1:0"), listen(t, "tcp", "127.0.0.1:0")
	plain.serve(t, onPlain)
	encrypted.serve(t, onEncrypted, grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{own.TLS()}})))
	local.serve(t, listen(t, "unix", socket))
	for _, tt := range []struct {
		at      *guarded
		target  string
		options []Option
	}{
		{plain, onPlain.Addr().String(), nil},
		{encrypted, onEncrypted.Addr().String(), []Option{TLSFiles(Files{CA: ca})}},
		{local, "unix://" + socket, nil},
	} {
		if err := leaves(t, tt.target, tt.options...); !errors.Is(err, holdfast.ErrDenied) || api.Code(err) != api.CodeUnauthenticated {
			t.Errorf("%s: without a token: %v", tt.target, err)
		}
		tokens := []string{"one", "two"}
		source := func(context.Context) (string, error) {
			next := tokens[0]
			tokens = tokens[1:]
			return next, nil
		}
		a, err := DialAdmin(tt.target, append(tt.options, TokenSource(source))...)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := a.Leave(t.Context(), 0); err != nil {
				t.Errorf("%s: %v", tt.target, err)
			}
		}
		a.members[0].settle(t.Context(), a.settings.clock.Now)
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		want := []string{"Leave[]", "Leave[Bearer one]", "Leave[Bearer two]", "Check[]"}
		if calls := tt.at.made(); !slices.Equal(calls, want) {
			t.Errorf("%s: the calls are %q, want %q", tt.target, calls, want)
		}
	}
}

// TestTokenOfStreams: each stream of a Client carries its own token, on a connection that Clients share.
func TestTokenOfStreams(t *testing.T) {
	var turn atomic.Int32
	s, v := newStage(t, TokenSource(func(context.Context) (string, error) {
		return fmt.Sprint("turn", turn.Add(1)), nil
	}))
	linkOf := func(c *Client) *link {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.stream.link
	}
	wants := func(v *conversation, want ...string) {
		t.Helper()
		if sent := sentWith(v.stream.Context()); !slices.Equal(sent, want) {
			t.Errorf("the stream has %q, want %q", sent, want)
		}
	}
	wants(v, "Bearer turn1")
	for _, tt := range []struct {
		option Option
		want   []string
	}{{Token(secretOfTest), []string{"Bearer " + secretOfTest}}, {TokenSource(nil), nil}} {
		other := &stage{fake: s.fake, clock: s.clock}
		result := other.dial(s.address, tt.option)
		on := s.accept()
		on.welcome("b-1", testTTL)
		other.finish(result)
		wants(on, tt.want...)
		if linkOf(s.client) != linkOf(other.client) {
			t.Error("the Clients do not share their connection")
		}
	}
	v.broken()
	again := s.accept()
	again.welcome("a-1", testTTL)
	wants(again, "Bearer turn2")
}

// TestTokenSourceFails: the Client goes on trying, and an Admin's call says why.
func TestTokenSourceFails(t *testing.T) {
	f := newFake(t)
	s := newStageUndialled(f)
	failed := make(chan struct{})
	fails := sync.OnceFunc(func() { close(failed) })
	var mu sync.Mutex
	reason := errors.New("the vault is sealed")
	source := func(context.Context) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		defer fails()
		return secretOfTest, reason
	}
	result := s.dial(f.address, TokenSource(source))
	<-failed
	if err := leaves(t, f.address, TokenSource(source)); !errors.Is(err, holdfast.ErrUnavailable) || !strings.Contains(err.Error(), "get the token: the vault is sealed") {
		t.Errorf("an Admin's call: %v", err)
	}
	mu.Lock()
	reason = nil
	mu.Unlock()
	f.accept().welcome("a-1", testTTL)
	s.finish(result)
}

// TestTokenNeedsEncryption: no token goes to another machine in plain text.
func TestTokenNeedsEncryption(t *testing.T) {
	for _, target := range []string{"192.0.2.1", "127.0.0.1,[2001:db8::1]:4040", "host.example:4040", "127.0.0.1.example"} {
		_, err := Dial(t.Context(), target, Token(secretOfTest))
		_, again := DialAdmin(target, Token(secretOfTest))
		for _, err := range []error{err, again} {
			if !errors.Is(err, holdfast.ErrConflict) || !contains(err.Error(), "without encryption", "TLSFiles") {
				t.Errorf("%s: %v", target, err)
			}
		}
	}
	for _, target := range []string{"localhost", "127.0.0.2:1,[::1]:4040", "[::ffff:127.0.0.1]:1", "unix:///run/holdfast.sock"} {
		a, err := DialAdmin(target, Token(secretOfTest))
		if err != nil {
			t.Errorf("%s: %v", target, err)
			continue
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

// distant is a connection that looks as if it went to another machine: the name of this one resolved to its address.
type distant struct{ net.Conn }

func (distant) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 4040} }

// TestTokenChecksTheConnection and not only the address.
func TestTokenChecksTheConnection(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	_, info, err := secure.Client(nil, "").ClientHandshake(t.Context(), "localhost", distant{here})
	if err != nil {
		t.Fatal(err)
	}
	b := bearer{func(context.Context) (string, error) {
		t.Error("the token is asked for")
		return secretOfTest, nil
	}}
	for _, auth := range []credentials.AuthInfo{info, nil} {
		ctx := credentials.NewContextWithRequestInfo(t.Context(), credentials.RequestInfo{Method: "/x", AuthInfo: auth})
		if sent, err := b.GetRequestMetadata(ctx); len(sent) != 0 || status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "TLSFiles") {
			t.Errorf("%q is sent; %v", sent, err)
		}
	}
}

// TestBadTokens are refused without being shown.
func TestBadTokens(t *testing.T) {
	g, l := &guarded{}, listen(t, "tcp", "127.0.0.1:0")
	g.serve(t, l)
	for secret, want := range map[string]string{
		"": "the token is empty", secretOfTest + "\n": "a token is one word", "Bearer " + secretOfTest: "a token is one word",
		"é" + secretOfTest: "a token is one word", strings.Repeat("a", mostToken+1): "at most 16384 are accepted",
	} {
		err := leaves(t, l.Addr().String(), Token(secret))
		if !errors.Is(err, holdfast.ErrDenied) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secretOfTest) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if calls := g.made(); len(calls) > 0 {
		t.Errorf("the server has got %q", calls)
	}
}

// TestTokensAreNotShown: neither a Client, nor its settings, nor its log have the secret.
func TestTokensAreNotShown(t *testing.T) {
	var mu sync.Mutex
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&lockedWriter{&mu, &log}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s, v := newStage(t, Token(secretOfTest), Logger(logger))
	v.hangUp <- status.Error(codes.Unauthenticated, "the token has expired")
	again := s.accept()
	again.welcome("a-1", testTTL)
	again.broken()
	s.accept().welcome("a-1", testTTL)
	a, err := DialAdmin(s.address, Token(secretOfTest))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	mu.Lock()
	defer mu.Unlock()
	text := log.String()
	if !strings.Contains(text, "the token has expired") {
		t.Errorf("the log does not have the refusal:\n%s", text)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		text += fmt.Sprintf(verb+" "+verb+" "+verb, Token(secretOfTest), *a.settings, a)
	}
	if strings.Contains(text, secretOfTest[4:]) {
		t.Errorf("the token is shown:\n%s", text)
	}
}

// lockedWriter is a writer for several goroutines.
type lockedWriter struct {
	mu *sync.Mutex
	to *bytes.Buffer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}
