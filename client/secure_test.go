package client_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/server"
	"github.com/holdfast-locks/holdfast/internal/socket"
	"github.com/holdfast-locks/holdfast/internal/test/issuer"
)

// testPKI has an authority for members and one for clients, and a folder for what they
// sign.
type testPKI struct {
	t                *testing.T
	folder           string
	members, clients *issuer.Authority
}

func newTestPKI(t *testing.T) *testPKI {
	t.Helper()
	b := &testPKI{t: t, folder: t.TempDir()}
	var err error
	if b.members, err = issuer.New("members"); err == nil {
		b.clients, err = issuer.New("clients")
	}
	if err == nil {
		_, err = b.members.Write(b.folder, "members")
	}
	b.must(err)
	return b
}

func (b *testPKI) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// server is what a member with a name encrypts with, and demands.
func (b *testPKI) server(name string) *tls.Config {
	b.t.Helper()
	c, err := b.members.Issue(issuer.Request{Name: name, Hosts: []string{"127.0.0.1"}, Member: true})
	b.must(err)
	return &tls.Config{
		Certificates: []tls.Certificate{c.TLS()}, RootCAs: b.members.Pool(),
		ClientCAs: b.clients.Pool(), ClientAuth: tls.RequireAndVerifyClientCert,
	}
}

// client writes a certificate for a client with a name, and returns the files.
func (b *testPKI) client(name string) client.Files {
	b.t.Helper()
	return b.signed(b.clients, issuer.Request{Name: name})
}

func (b *testPKI) signed(by *issuer.Authority, request issuer.Request) client.Files {
	b.t.Helper()
	c, err := by.Issue(request)
	b.must(err)
	files, err := c.Write(b.folder, request.Name)
	b.must(err)
	return client.Files{CA: filepath.Join(b.folder, "members.pem"), Cert: files.Cert, Key: files.Key}
}

// admin asks a member.
func (b *testPKI) admin(target string, options ...client.Option) *client.Admin {
	b.t.Helper()
	a, err := client.DialAdmin(target, options...)
	b.must(err)
	b.t.Cleanup(func() { b.must(a.Close()) })
	return a
}

// TestIdentity: listings show the name of a client's certificate, and no other client may
// use its session, even with the secret.
func TestIdentity(t *testing.T) {
	b, l := newTestPKI(t), loopback(t)
	path := filepath.Join(b.folder, "s")
	local, err := socket.Listen(path, 0o600)
	b.must(err)
	serveMember(t, l, func(c *server.Config) { c.TLS = b.server("m1") })
	serveMember(t, local, nil)
	target, ctx := l.Addr().String(), context.Background()
	locks, err := client.Dial(ctx, target, client.TLSFiles(b.client("job-7")), client.Name("the boss"))
	b.must(err)
	lock, err := locks.Lock(ctx, "x")
	b.must(err)
	owner, other := b.admin(target, client.TLSFiles(b.client("job-7"))), b.admin(target, client.TLSFiles(b.client("job-8")))
	shown, err := other.Show(ctx, "", "x")
	b.must(err)
	if len(shown.Holders) != 1 || shown.Holders[0].Client != "job-7" {
		t.Errorf("the holder is %+v", shown.Holders)
	}
	session := locks.Session() + "." + locks.Secret()
	for what, err := range map[string]error{
		"release": other.Release(ctx, "", "x", lock.Token(), session),
		"renew":   second(other.Renew(ctx, session, 0)),
		"acquire": second(other.Acquire(ctx, "", client.Acquisition{Names: []string{"y"}, Session: session})),
		"end":     second(other.EndSession(ctx, session)),
		"resume":  second(client.Dial(ctx, target, client.TLSFiles(b.client("job-8")), client.Resume(locks.Session(), locks.Secret()))),
	} {
		if !errors.Is(err, holdfast.ErrDenied) || !strings.Contains(err.Error(), "another client has opened this session") {
			t.Errorf("%s by another one: %v", what, err)
		}
	}
	if err := lock.Check(); err != nil {
		t.Errorf("the lock was lost: %v", err)
	}
	b.must(owner.Release(ctx, "", "x", lock.Token(), session))
	b.must(locks.Close())
	// The user at the other end of a socket.
	acquired, err := b.admin("unix://"+path).Acquire(ctx, "", client.Acquisition{Names: []string{"x"}})
	b.must(err)
	shown, err = b.admin("unix://"+path, client.TLSFiles(b.client("job-7"))).Show(ctx, "", "x")
	b.must(err)
	if who := shown.Holders[0].Client; !strings.Contains(who, " pid ") {
		t.Errorf("over a socket the holder of %s is %q", acquired.Locks[0].Name, who)
	}
}

func second[T any](_ T, err error) error { return err }

// TestRequestsAreTheirOwners: the id of a request names it among those of its sender, so
// that no client is answered with another one's session.
func TestRequestsAreTheirOwners(t *testing.T) {
	b, l := newTestPKI(t), loopback(t)
	serveMember(t, l, func(c *server.Config) { c.TLS = b.server("m1") })
	ask := func(who string) (*schema.AcquiredAll, error) {
		return b.admin(l.Addr().String(), client.TLSFiles(b.client(who))).Acquire(context.Background(), "", client.Acquisition{Names: []string{"x"}, Request: "r-1"})
	}
	first, err := ask("job-7")
	b.must(err)
	again, err := ask("job-7")
	b.must(err)
	if first.Session != again.Session {
		t.Errorf("the same request was answered with %q and %q", first.Session, again.Session)
	}
	if _, err := ask("job-8"); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("another one's request with that id: %v", err)
	}
}

// TestRefusals: a client that is not let in hears why, and what to do.
func TestRefusals(t *testing.T) {
	b := newTestPKI(t)
	secure, plain := loopback(t), loopback(t)
	serveMember(t, secure, func(c *server.Config) { c.TLS = b.server("m1") })
	serveMember(t, plain, nil)
	job := b.client("job-7")
	for _, tt := range []struct {
		what   string
		target string
		files  *client.Files
		says   string
	}{
		{"plain text to TLS", secure.Addr().String(), nil, "a member with TLS needs --tls-ca FILE"},
		{"TLS to plain text", plain.Addr().String(), &job, "it does not speak TLS; leave the TLS flags out"},
		{"no certificate", secure.Addr().String(), &client.Files{CA: job.CA}, "demands a client certificate; give one with --tls-cert FILE"},
		{"another name", strings.Replace(secure.Addr().String(), "127.0.0.1", "localhost", 1), &job, "is for 127.0.0.1, m1 and not for localhost"},
		{"a demanded name", secure.Addr().String(), &client.Files{CA: job.CA, Cert: job.Cert, Key: job.Key, ServerName: "m2"}, "and not for m2"},
		{"an unknown authority", secure.Addr().String(), &client.Files{CA: job.Cert, Cert: job.Cert, Key: job.Key}, "signed by members, an authority that is not known here; give that authority with --tls-ca FILE"},
	} {
		var options []client.Option
		if tt.files != nil {
			options = append(options, client.TLSFiles(*tt.files))
		}
		_, err := b.admin(tt.target, options...).Status(context.Background())
		if !errors.Is(err, holdfast.ErrUnavailable) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v\nwant %q", tt.what, err, tt.says)
		}
	}
	member := b.signed(b.members, issuer.Request{Name: "m2", Member: true})
	if _, err := b.admin(secure.Addr().String(), client.TLSFiles(member)).Status(context.Background()); !errors.Is(err, holdfast.ErrDenied) || !strings.Contains(err.Error(), "m2 is no client's") {
		t.Errorf("a member's certificate: %v", err)
	}
	named := job
	named.ServerName = "m1"
	_, err := b.admin(strings.Replace(secure.Addr().String(), "127.0.0.1", "localhost", 1), client.TLSFiles(named)).Status(context.Background())
	if err != nil {
		t.Errorf("with the name that it must have: %v", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(b.members.PEM())
	pair, err := tls.LoadX509KeyPair(job.Cert, job.Key)
	b.must(err)
	fixed := &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, ServerName: "m1"}
	if _, err := b.admin(secure.Addr().String(), client.TLS(fixed)).Status(context.Background()); err != nil {
		t.Errorf("with a configuration of crypto/tls: %v", err)
	}
}

// TestTLSFilesAreChecked: a file that cannot be read is refused before any member is called.
func TestTLSFilesAreChecked(t *testing.T) {
	b := newTestPKI(t)
	job := b.client("job-7")
	for want, options := range map[string][]client.Option{
		"no such file":              {client.TLSFiles(client.Files{CA: job.CA + "x"})},
		"no certificate in PEM":     {client.TLSFiles(client.Files{CA: job.Key})},
		"needs its private key":     {client.TLSFiles(client.Files{Cert: job.Cert})},
		"does not make a pair":      {client.TLSFiles(client.Files{Cert: job.Cert, Key: job.Cert})},
		"TLS and TLSFiles are both": {client.TLSFiles(job), client.TLS(&tls.Config{})},
	} {
		if _, err := client.DialAdmin("localhost", options...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestFilesAreAbsolute: a client may go to another folder.
func TestFilesAreAbsolute(t *testing.T) {
	b, l := newTestPKI(t), loopback(t)
	serveMember(t, l, func(c *server.Config) { c.TLS = b.server("m1") })
	b.client("job-7")
	t.Chdir(b.folder)
	admin := b.admin(l.Addr().String(), client.TLSFiles(client.Files{CA: "members.pem", Cert: "job-7.pem", Key: "job-7-key.pem"}))
	t.Chdir("/")
	if _, err := os.Stat("job-7.pem"); err == nil {
		t.Fatal("there is such a file in /")
	}
	if _, err := admin.Status(context.Background()); err != nil {
		t.Error(err)
	}
}
