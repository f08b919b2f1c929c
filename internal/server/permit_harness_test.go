package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	jose_jwt "github.com/go-jose/go-jose/v4/jwt"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	transport "google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/holdfast-locks/holdfast/internal/access"
	"github.com/holdfast-locks/holdfast/internal/access/guard"
	"github.com/holdfast-locks/holdfast/internal/access/token"
	"github.com/holdfast-locks/holdfast/internal/audit"
	"github.com/holdfast-locks/holdfast/internal/test/issuer"
)

// guarded is a member with a policy: both ports with TLS, and a Unix socket.
type guarded struct {
	*webHarness
	folder  string
	guard   *guard.Guard
	ways    ways
	members *issuer.Authority
	clients *issuer.Authority
	secrets map[string]string // of tokens, by name
	signer  *ecdsa.PrivateKey
}

const issuerURL = "https://login.example"

// onePolicy has a role for each verb on the names deploy/** of space default, and in full. NAME stands for the folder.
const onePolicy = `
roles:
  lock:    {rules: [{space: default, names: ["deploy/**"], verbs: [lock]}]}
  read:    {rules: [{space: default, names: ["deploy/**"], verbs: [read]}]}
  break:   {rules: [{space: default, names: ["deploy/**"], verbs: [break]}]}
  operate: {rules: [{space: "*", names: ["**"], verbs: [operate]}]}
  admin:   {rules: [{space: "*", names: ["**"], verbs: [admin]}]}
  space:   {rules: [{space: default, names: ["**"], verbs: [operate]}]}
grants:
  - {role: lock,    to: ["cert:lock", "token:lock", "jwt:https://login.example#lock", "group:https://login.example#lockers"]}
  - {role: read,    to: ["cert:read", "token:read", "jwt:https://login.example#read", "spiffe://example/read"]}
  - {role: break,   to: ["cert:break", "token:break", "jwt:https://login.example#break"]}
  - {role: operate, to: ["cert:operate", "token:operate", "jwt:https://login.example#operate"]}
  - {role: admin,   to: ["cert:admin", "token:admin", "jwt:https://login.example#admin", "uid:UID"]}
  - {role: space,   to: ["cert:space"]}
issuers:
  - {issuer: "https://login.example", audience: holdfast, jwks: "FOLDER/keys.json", groups: groups}
`

func newGuarded(t testing.TB, policy string, change func(*Config)) *guarded {
	t.Helper()
	g := &guarded{folder: t.TempDir(), secrets: map[string]string{}}
	var err error
	g.members, err = issuer.New("members")
	must(t, err)
	g.clients, err = issuer.New("clients")
	must(t, err)
	g.writeKeys(t)
	g.writePolicy(t, policy)
	tokens := token.Open(token.Options{Path: filepath.Join(g.folder, "tokens.yaml")})
	for _, name := range []string{"lock", "read", "break", "operate", "admin", "other"} {
		secret, sum := token.New()
		must(t, tokens.Add(token.Record{Name: name, Sum: sum, Created: time.Now().UTC().Truncate(time.Second)}))
		g.secrets[name] = secret
	}
	log, err := audit.Open(audit.Config{To: filepath.Join(g.folder, "audit.jsonl"), Member: "a"})
	must(t, err)
	t.Cleanup(func() { must(t, log.Close()) })
	g.guard, err = guard.Open(guard.Config{File: filepath.Join(g.folder, "access.yaml"), Tokens: tokens, Audit: log})
	must(t, err)
	own, err := g.members.Issue(issuer.Request{Name: "a", Hosts: []string{"127.0.0.1"}, Member: true})
	must(t, err)
	g.webHarness = newWebHarness(t, func(c *Config) {
		c.Guard = g.guard
		c.TLS = &tls.Config{
			Certificates: []tls.Certificate{own.TLS()}, ClientAuth: tls.VerifyClientCertIfGiven,
			ClientCAs: g.clients.Pool(), RootCAs: g.members.Pool(),
		}
		if change != nil {
			change(c)
		}
	})
	g.ways = ways{
		grpc:  g.listen("tcp", "127.0.0.1:0"),
		local: g.listen("unix", filepath.Join(g.folder, "s")),
		http:  dialling("tcp", g.address),
	}
	return g
}

// ways are how callers reach a member: its ports, and its socket.
type ways struct{ grpc, http, local dialer }

type dialer func(context.Context) (net.Conn, error)

// dialling is the way to an address.
func dialling(network, address string) dialer {
	return func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, address)
	}
}

// listen serves gRPC at an address.
func (g *guarded) listen(network, address string) dialer {
	l, err := net.Listen(network, address)
	must(g.t, err)
	g.serveAt(l, g.server.AcceptGRPC)
	return dialling(network, l.Addr().String())
}

// serveAt serves the connections of a listener until the end of the test.
func (g *guarded) serveAt(l net.Listener, serve func(net.Listener) error) {
	served := make(chan error, 1)
	go func() { served <- serve(l) }()
	g.t.Cleanup(func() {
		must(g.t, g.server.Shutdown(context.Background()))
		must(g.t, <-served)
	})
}

// inProcess makes the ways to the member lead through memory: no call leaves the process, and none reaches a port.
func (g *guarded) inProcess() {
	pair := func(serve func(net.Listener) error, local bool) dialer {
		l := &pairs{local: local, accepted: make(chan net.Conn), closed: make(chan struct{})}
		g.serveAt(l, serve)
		return l.dial
	}
	g.ways = ways{
		grpc: pair(g.server.AcceptGRPC, false), http: pair(g.server.AcceptHTTP, false), local: pair(g.server.AcceptGRPC, true),
	}
}

// pairs is a listener of connected pairs without an address.
type pairs struct {
	local    bool // the system knows who made them, as with a Unix socket
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

// inMemory is the address of a pair.
const inMemory = "memory"

// memoryConn is an end of a pair that could be from anywhere.
type memoryConn struct{ net.Conn }

func (memoryConn) LocalAddr() net.Addr  { return memoryAddress{} }
func (memoryConn) RemoteAddr() net.Addr { return memoryAddress{} }

type memoryAddress struct{}

func (memoryAddress) Network() string { return inMemory }
func (memoryAddress) String() string  { return inMemory }

func (l *pairs) dial(ctx context.Context) (net.Conn, error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	var conns [2]net.Conn
	for i, end := range ends {
		file := os.NewFile(uintptr(end), "pair")
		conn, failed := net.FileConn(file) // which duplicates it
		conns[i], err = conn, errors.Join(err, failed, file.Close())
	}
	if err != nil {
		return nil, err
	}
	accepted := conns[0]
	if !l.local {
		accepted = memoryConn{accepted}
	}
	select {
	case l.accepted <- accepted:
		return conns[1], nil
	case <-l.closed:
		err = net.ErrClosed
	case <-ctx.Done():
		err = ctx.Err()
	}
	return nil, errors.Join(err, conns[0].Close(), conns[1].Close())
}

func (l *pairs) Accept() (net.Conn, error) {
	select {
	case c := <-l.accepted:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pairs) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pairs) Addr() net.Addr { return memoryAddress{} }

func (g *guarded) writePolicy(t testing.TB, policy string) {
	t.Helper()
	text := strings.NewReplacer("FOLDER", g.folder, "UID", fmt.Sprint(os.Getuid())).Replace(policy)
	must(t, os.WriteFile(filepath.Join(g.folder, "access.yaml"), []byte(text), 0o600))
}

func (g *guarded) writeKeys(t testing.TB) {
	t.Helper()
	var err error
	g.signer, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: g.signer.Public(), KeyID: "k1", Algorithm: "ES256", Use: "sig"}}}
	text, err := json.Marshal(set)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(g.folder, "keys.json"), text, 0o600))
}

// jwt signs a token of the issuer.
func (g *guarded) jwt(subject string, groups ...string) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: g.signer, KeyID: "k1"}}, nil)
	must(g.t, err)
	text, err := jose_jwt.Signed(signer).Claims(jose_jwt.Claims{
		Issuer: issuerURL, Subject: subject, Audience: jose_jwt.Audience{"holdfast"},
		Expiry: jose_jwt.NewNumericDate(time.Now().Add(time.Hour)), IssuedAt: jose_jwt.NewNumericDate(time.Now()),
	}).Claims(map[string]any{"groups": groups}).Serialize()
	must(g.t, err)
	return text
}

// who is a caller of a test.
type who struct {
	subject string // as the audit log must name it
	has     access.Verb
	bearer  string
	request *issuer.Request     // of its certificate
	own     *issuer.Certificate // instead of request
	local   bool                // through the socket

	once sync.Once
	conn *grpc.ClientConn
	http *http.Client
}

// everyone returns callers of every kind, each with one verb or none.
func (g *guarded) everyone() []*who {
	all := []*who{
		{subject: access.Anonymous},
		{subject: "token:other", bearer: g.secrets["other"]},
		{subject: "cert:other", request: &issuer.Request{Name: "other"}},
		{subject: "jwt:" + issuerURL + "#other", bearer: g.jwt("other", "nothing")},
		{subject: "jwt:" + issuerURL + "#grouped", bearer: g.jwt("grouped", "lockers"), has: access.Lock},
		{subject: "spiffe://example/read", request: &issuer.Request{Name: "read2", URIs: []string{"spiffe://example/read"}}, has: access.Read},
		{subject: fmt.Sprintf("uid:%d", os.Getuid()), local: true, has: access.Admin},
		{subject: "token:read", bearer: g.secrets["read"], local: true, has: access.Read},
		// A certificate comes before a token.
		{subject: "cert:other", request: &issuer.Request{Name: "other"}, bearer: g.secrets["admin"]},
	}
	for _, verb := range access.Verbs() {
		word := verb.String()
		all = append(all,
			&who{subject: "cert:" + word, request: &issuer.Request{Name: word}, has: verb},
			&who{subject: "token:" + word, bearer: g.secrets[word], has: verb},
			&who{subject: "jwt:" + issuerURL + "#" + word, bearer: g.jwt(word), has: verb},
		)
	}
	return all
}

// connect makes the caller's connections.
func (w *who) connect(g *guarded) {
	w.once.Do(func() {
		encrypted := &tls.Config{RootCAs: g.members.Pool()}
		if w.own != nil {
			encrypted.Certificates = []tls.Certificate{w.own.TLS()}
		}
		if w.request != nil {
			own, err := g.clients.Issue(*w.request)
			must(g.t, err)
			encrypted.Certificates = []tls.Certificate{own.TLS()}
		}
		way, credentials := g.ways.grpc, transport.NewTLS(encrypted.Clone())
		if w.local {
			way, credentials = g.ways.local, insecure.NewCredentials()
		}
		dial := func(ctx context.Context, _ string) (net.Conn, error) { return way(ctx) }
		var err error
		w.conn, err = grpc.NewClient("passthrough:///127.0.0.1", grpc.WithTransportCredentials(credentials), grpc.WithContextDialer(dial))
		must(g.t, err)
		through := &http.Transport{
			TLSClientConfig: encrypted,
			DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return g.ways.http(ctx) },
		}
		w.http = &http.Client{Transport: through}
		g.t.Cleanup(func() {
			through.CloseIdleConnections()
			must(g.t, w.conn.Close())
		})
	})
}

// context returns the context of the caller's calls over gRPC.
func (w *who) context(ctx context.Context) context.Context {
	if w.bearer == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+w.bearer)
}

// contextWithin returns a context for one call of a test.
func contextWithin(t testing.TB) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), 30*time.Second)
}

// entries returns the audit log, as its file has it.
func (g *guarded) entries() (all []audit.Entry) {
	g.t.Helper()
	data, err := os.ReadFile(filepath.Join(g.folder, "audit.jsonl"))
	must(g.t, err)
	for line := range strings.Lines(string(data)) {
		var e audit.Entry
		must(g.t, json.Unmarshal([]byte(line), &e))
		all = append(all, e)
	}
	return all
}
