package certificate

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/follow"
	"github.com/holdfast-locks/holdfast/internal/test/issuer"
)

// harness has two authorities, and what they sign in a folder.
type harness struct {
	t                *testing.T
	folder           string
	members, clients *issuer.Authority
	log              bytes.Buffer
	at               time.Time
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	b := &harness{t: t, folder: t.TempDir(), at: time.Now()}
	b.members, b.clients = b.authority("members"), b.authority("clients")
	return b
}

func (b *harness) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// authority makes one, and writes it into a file of its name.
func (b *harness) authority(name string) *issuer.Authority {
	b.t.Helper()
	a, err := issuer.New("authority of " + name)
	b.must(err)
	_, err = a.Write(b.folder, name)
	b.must(err)
	return a
}

// issue writes a certificate into files of a name.
func (b *harness) issue(by *issuer.Authority, base string, request issuer.Request) {
	b.t.Helper()
	c, err := by.Issue(request)
	b.must(err)
	_, err = c.Write(b.folder, base)
	b.must(err)
}

func (b *harness) path(base string) string { return filepath.Join(b.folder, base+".pem") }

// open opens a store of files; the clients' authority is left out where two is false.
func (b *harness) open(base string, two bool, auth tls.ClientAuthType) *Store {
	b.t.Helper()
	files := Files{Members: b.path("members")}
	if base != "" {
		files.Cert, files.Key = b.path(base), b.path(base+"-key")
	}
	if two {
		files.Clients = b.path("clients")
	}
	s, err := Open(Options{Files: files, ClientAuth: auth, Logger: slog.New(slog.NewTextHandler(&b.log, nil))})
	b.must(err)
	s.now = func() time.Time { return b.at }
	s.looked = b.at
	return s
}

// meeting is what two sides of a connection know of each other.
type meeting struct {
	accepted, dialled tls.ConnectionState
	refused, failed   error // on the accepting side, on the dialling side
}

// meet lets two sides shake hands over a connection of the network.
func (b *harness) meet(accepting, dialling *tls.Config) (m meeting) {
	b.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	b.must(err)
	defer l.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		raw, err := l.Accept()
		if err != nil {
			m.refused = err
			return
		}
		conn := tls.Server(raw, accepting)
		defer conn.Close()
		if m.refused = conn.Handshake(); m.refused == nil {
			m.accepted = conn.ConnectionState()
			_, m.refused = conn.Write([]byte("!"))
		}
	}()
	raw, err := net.Dial("tcp", l.Addr().String())
	b.must(err)
	dialling = dialling.Clone()
	if dialling.ServerName == "" {
		dialling.ServerName = "127.0.0.1"
	}
	conn := tls.Client(raw, dialling)
	defer conn.Close()
	if m.failed = conn.Handshake(); m.failed == nil {
		m.dialled = conn.ConnectionState()
		if n, err := conn.Read(make([]byte, 1)); n == 0 {
			m.failed = err
		}
	}
	raw.Close()
	<-done
	return m
}

func wants(t *testing.T, err error, parts string) {
	t.Helper()
	if parts == "" && err == nil {
		return
	}
	for part := range strings.SplitSeq(parts, "|") {
		if err == nil || part == "" || !strings.Contains(err.Error(), part) {
			t.Errorf("%v, want %q", err, part)
		}
	}
}

// TestWhoIsWho: one port, each sort of certificate, one authority and two, and what
// clients must show.
func TestWhoIsWho(t *testing.T) {
	b := newHarness(t)
	b.issue(b.members, "m1", issuer.Request{Name: "m1", Hosts: []string{"127.0.0.1"}, Member: true})
	b.issue(b.members, "m2", issuer.Request{Name: "m2", Member: true})
	b.issue(b.members, "web", issuer.Request{Name: "web"}) // of the members' authority, and a client's
	b.issue(b.clients, "job-7", issuer.Request{Name: "job-7"})
	b.issue(b.clients, "m3", issuer.Request{Name: "m3", Member: true}) // looks like a member's, and is not
	b.issue(b.members, "any", issuer.Request{Name: "m2", Unlimited: true})
	for _, tt := range []struct {
		who, as string
		two     bool
		auth    tls.ClientAuthType
		refused string // at the handshake
		client  string // or the name
		member  string
	}{
		{"m2", "m2", true, tls.RequireAndVerifyClientCert, "", "no client's|authority of members", ""},
		{"m2", "m1", true, tls.RequireAndVerifyClientCert, "", "no client's", "m1 shows a certificate for m2"},
		{"job-7", "job-7", true, tls.RequireAndVerifyClientCert, "", "=job-7", "no member's|authority of clients"},
		{"m3", "m3", true, tls.RequireAndVerifyClientCert, "", "=m3", "no member's|authority of clients"},
		{"web", "web", true, tls.RequireAndVerifyClientCert, "", "no client's", "no member's|serverAuth"},
		{"", "m2", true, tls.RequireAndVerifyClientCert, "shows no certificate", "", ""},
		{"", "m2", true, tls.VerifyClientCertIfGiven, "", "=", "shows no certificate"},
		{"job-7", "m2", true, tls.VerifyClientCertIfGiven, "", "=job-7", "no member's"},
		{"m2", "m2", true, tls.NoClientCert, "", "=", ""},
		{"m2", "m1", true, tls.NoClientCert, "", "=", "m1 shows a certificate for m2"},
		{"job-7", "job-7", true, tls.NoClientCert, "", "=", "no member's"},
		{"m2", "m2", false, tls.RequireAndVerifyClientCert, "", "=m2", ""},
		{"web", "web", false, tls.RequireAndVerifyClientCert, "", "=web", "lacks serverAuth; sign it for serverAuth and clientAuth"},
		{"any", "m2", true, tls.RequireAndVerifyClientCert, "", "no client's", "no member's|it has no extended key usage; sign it for serverAuth and clientAuth"},
		{"any", "m2", false, tls.RequireAndVerifyClientCert, "", "=m2", "it has no extended key usage"},
		{"job-7", "job-7", false, tls.RequireAndVerifyClientCert, "authority that is not known here", "", ""},
	} {
		server := b.open("m1", tt.two, tt.auth)
		m := b.meet(server.Shared(), b.open(tt.who, false, 0).Dialling())
		if tt.refused != "" {
			wants(t, ExplainAccepting(m.refused), tt.refused)
			continue
		}
		b.must(m.failed)
		if name, err := server.Client(&m.accepted); strings.HasPrefix(tt.client, "=") {
			if err != nil || "="+name != tt.client {
				t.Errorf("%+v: the client is %q, %v", tt, name, err)
			}
		} else {
			wants(t, err, tt.client)
		}
		wants(t, server.Member(&m.accepted, tt.as), tt.member)
	}
}

// TestVersions: TLS 1.3 is the default on each side; 1.2 is spoken where it is allowed, with AEAD suites alone, and a
// side that speaks another version learns the key.
func TestVersions(t *testing.T) {
	b := newHarness(t)
	b.issue(b.members, "m1", issuer.Request{Name: "m1", Hosts: []string{"127.0.0.1"}, Member: true})
	b.issue(b.members, "m2", issuer.Request{Name: "m2", Member: true})
	lowest := func(base string, version uint16) *Store {
		s, err := Open(Options{
			Files:      Files{Cert: b.path(base), Key: b.path(base + "-key"), Members: b.path("members")},
			ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: version,
		})
		b.must(err)
		return s
	}
	strict, lenient := lowest("m1", 0), lowest("m1", tls.VersionTLS12)
	dialling := func(most uint16, suites ...uint16) *tls.Config {
		c := lowest("m2", tls.VersionTLS12).Dialling()
		c.NextProtos = nil
		c.MaxVersion = most
		if len(suites) > 0 {
			c.CipherSuites = suites
		}
		return c
	}
	m := b.meet(strict.Shared(), dialling(tls.VersionTLS12))
	wants(t, ExplainAccepting(m.refused), "tls.min_version on (1.3, unless that is set)|set tls.min_version to 1.2")
	wants(t, lowest("m2", 0).ExplainDialling(m.failed), "it does not speak TLS 1.3|tls.min_version")
	for _, configuration := range []*tls.Config{lenient.Shared(), lenient.Web(), lenient.Membership()} {
		m = b.meet(configuration, dialling(tls.VersionTLS12))
		b.must(m.failed)
		if got := m.accepted.Version; got != tls.VersionTLS12 {
			t.Errorf("they speak %s", tls.VersionName(got))
		}
		cbc := dialling(tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA)
		if m = b.meet(configuration, cbc); m.failed == nil {
			t.Errorf("a CBC suite is accepted: %s", tls.CipherSuiteName(m.accepted.CipherSuite))
		}
		m = b.meet(configuration, dialling(0))
		b.must(m.failed)
		if got := m.accepted.Version; got != tls.VersionTLS13 || m.accepted.DidResume {
			t.Errorf("both speak 1.3, and they use %s", tls.VersionName(got))
		}
		ancient := dialling(tls.VersionTLS11)
		ancient.MinVersion = tls.VersionTLS10
		m = b.meet(configuration, ancient)
		wants(t, ExplainAccepting(m.refused), "no version of TLS from tls.min_version on")
	}
	// A server that speaks 1.2 alone.
	old := lenient.Shared()
	old.GetConfigForClient, old.MaxVersion = nil, tls.VersionTLS12
	client := lowest("m2", 0)
	m = b.meet(old, client.Dialling())
	wants(t, client.ExplainDialling(m.failed), "it does not speak TLS 1.3; update it, or the proxy in front of it")
	// The configuration of a program counts.
	for version, want := range map[uint16]uint16{0: tls.VersionTLS13, tls.VersionTLS12: tls.VersionTLS12, tls.VersionTLS10: tls.VersionTLS12} {
		s, err := Fixed(&tls.Config{MinVersion: version})
		b.must(err)
		if got := s.Dialling().MinVersion; got != want {
			t.Errorf("with MinVersion %s: %s", tls.VersionName(version), tls.VersionName(got))
		}
	}
}

// TestMembersAreListed: with Names, a member's certificate opens nothing unless its name is there.
func TestMembersAreListed(t *testing.T) {
	b := newHarness(t)
	b.issue(b.members, "m1", issuer.Request{Name: "m1", Hosts: []string{"127.0.0.1"}, Member: true})
	b.issue(b.members, "m2", issuer.Request{Name: "m2", Member: true})
	for _, tt := range []struct{ names, refused string }{
		{"m1,m2", ""}, {"m1,m?", ""}, {"*", ""}, {"m[12]", ""},
		{"m1,m3", "tls.members does not list member m2; it has m1, m3: add the name there, at each member"},
		{"m1,M2", "does not list member m2"}, {"m1,2", "does not list"}, {"m1,m", "does not list"},
	} {
		for _, two := range []bool{false, true} {
			server := b.open("m1", two, tls.RequireAndVerifyClientCert)
			server.names = strings.Split(tt.names, ",")
			m := b.meet(server.Shared(), b.open("m2", two, 0).Calling())
			b.must(m.failed)
			wants(t, server.Member(&m.accepted, "m2"), tt.refused)
			wants(t, server.Require("m1"), "")
			wants(t, server.Require("m2"), "is for 127.0.0.1, m1")
		}
	}
	server := b.open("m1", true, 0)
	server.names = []string{"m2"}
	wants(t, server.Require("m1"), "tls.members does not list member m1")
	if _, err := Open(Options{Names: []string{"m1", "[m"}}); err == nil || !strings.Contains(err.Error(), `tls.members: "[m": syntax error in pattern`) {
		t.Errorf("a bad pattern: %v", err)
	}
}

// TestWarnings: an authority that signs for members and for clients, without a list of members, is worth a warning.
func TestWarnings(t *testing.T) {
	b := newHarness(t)
	b.issue(b.members, "m1", issuer.Request{Name: "m1", Member: true})
	b.must(os.WriteFile(b.path("both"), slices.Concat(b.clients.PEM(), b.members.PEM()), 0o600))
	for _, tt := range []struct {
		what    string
		clients string
		auth    tls.ClientAuthType
		names   []string
		warned  bool
	}{
		{"two authorities", "clients", tls.RequireAndVerifyClientCert, nil, false},
		{"one authority", "", tls.RequireAndVerifyClientCert, nil, true},
		{"one authority, given twice", "members", tls.VerifyClientCertIfGiven, nil, true},
		{"one that is also the clients'", "both", tls.RequireAndVerifyClientCert, nil, true},
		{"no certificates of clients", "", tls.NoClientCert, nil, false},
		{"a list", "", tls.RequireAndVerifyClientCert, []string{"m1"}, false},
	} {
		s := b.open("m1", false, tt.auth)
		if tt.clients != "" {
			s.files.Clients = b.path(tt.clients)
			s.look()
		}
		s.names = tt.names
		if got := s.Warnings(); (len(got) > 0) != tt.warned {
			t.Errorf("%s: %q", tt.what, got)
		}
	}
}

// TestCalling: a member speaks to members, at every address where it reaches them.
func TestCalling(t *testing.T) {
	b := newHarness(t)
	b.issue(b.members, "m1", issuer.Request{Name: "m1", Member: true})
	b.issue(b.members, "m2", issuer.Request{Name: "m2", Member: true})
	b.issue(b.clients, "m3", issuer.Request{Name: "m3", Member: true})
	b.issue(b.members, "web", issuer.Request{Name: "web"})
	caller := b.open("m1", true, 0)
	m := b.meet(b.open("m2", true, tls.RequireAndVerifyClientCert).Membership(), caller.Calling())
	b.must(m.failed)
	wants(t, caller.Member(&m.dialled, "m2"), "")
	wants(t, caller.Member(&m.dialled, "m9"), "m9 shows a certificate for m2|DNS name m9")
	m = b.meet(b.open("m3", true, 0).Shared(), caller.Calling())
	wants(t, caller.ExplainDialling(m.failed), "signed by authority of clients|--tls-ca FILE")
	m = b.meet(b.open("web", true, 0).Shared(), caller.Calling())
	wants(t, caller.ExplainDialling(m.failed), "another purpose|serverAuth")
	b.issue(b.members, "any", issuer.Request{Name: "m2", Unlimited: true})
	m = b.meet(b.open("any", true, 0).Shared(), caller.Calling())
	wants(t, caller.ExplainDialling(m.failed), "its certificate for m2 is no member's: it has no extended key usage")
	m = b.meet(b.open("m2", true, 0).Membership(), b.open("web", true, 0).Calling())
	b.must(m.failed)
	wants(t, b.open("m2", true, 0).Member(&m.accepted, "web"), "serverAuth")
}

// TestReload: a handshake has what the files hold, a second after they have changed at the
// latest; a file that cannot be used is reported once, and changes nothing.
func TestReload(t *testing.T) {
	b := newHarness(t)
	b.issue(b.members, "m1", issuer.Request{Name: "m1", Hosts: []string{"127.0.0.1", "first"}, Member: true})
	b.issue(b.clients, "job-7", issuer.Request{Name: "job-7"})
	server := b.open("m1", true, tls.RequireAndVerifyClientCert)
	b.must(server.Require("m1"))
	client := b.open("job-7", false, 0)
	served := func() string {
		t.Helper()
		m := b.meet(server.Shared(), client.Dialling())
		b.must(m.failed)
		return Names(m.dialled.PeerCertificates[0])
	}
	b.issue(b.members, "m1", issuer.Request{Name: "m1", Hosts: []string{"127.0.0.1", "second"}, Member: true})
	if got := served(); got != "127.0.0.1, first, m1" {
		t.Errorf("within the second: %s", got)
	}
	b.at = b.at.Add(follow.Every)
	if got := served(); got != "127.0.0.1, m1, second" {
		t.Errorf("after the second: %s", got)
	}
	whole, err := os.ReadFile(b.path("m1"))
	b.must(err)
	for _, broken := range []struct {
		what string
		do   func()
		says string
	}{
		{"half a file", func() { b.must(os.WriteFile(b.path("m1"), whole[:40], 0o600)) }, "does not make a pair"},
		{"no file", func() { b.must(os.Remove(b.path("m1"))) }, "no such file"},
		{"another's key", func() { b.must(os.WriteFile(b.path("m1"), b.members.PEM(), 0o600)) }, "does not make a pair"},
		{"another's name", func() { b.issue(b.members, "m1", issuer.Request{Name: "m2", Member: true}) }, "does not carry this member's own name m1"},
		{"a client's", func() { b.issue(b.members, "m1", issuer.Request{Name: "m1"}) }, "serverAuth"},
		{"an expired one", func() {
			b.issue(b.members, "m1", issuer.Request{Name: "m1", Member: true, NotAfter: b.at.Add(-time.Minute)})
		}, "has expired at"},
	} {
		b.log.Reset()
		broken.do()
		for range 3 {
			b.at = b.at.Add(follow.Every)
			if got := served(); got != "127.0.0.1, m1, second" {
				t.Errorf("%s: %s", broken.what, got)
			}
		}
		if log := b.log.String(); strings.Count(log, "the changed TLS files") != 1 || !strings.Contains(log, broken.says) {
			t.Errorf("%s: the log says\n%s", broken.what, log)
		}
	}
	b.log.Reset()
	b.issue(b.members, "m1", issuer.Request{Name: "m1", Hosts: []string{"127.0.0.1", "third"}, Member: true})
	b.at = b.at.Add(follow.Every)
	if got := served(); got != "127.0.0.1, m1, third" || !strings.Contains(b.log.String(), "read again") {
		t.Errorf("mended: %s\n%s", got, b.log.String())
	}
}

// TestReloadAuthorities: the accepted certificates change with the file, for new connections.
func TestReloadAuthorities(t *testing.T) {
	b := newHarness(t)
	b.issue(b.members, "m1", issuer.Request{Name: "m1", Hosts: []string{"127.0.0.1"}, Member: true})
	b.issue(b.clients, "job-7", issuer.Request{Name: "job-7"})
	server, client := b.open("m1", true, tls.RequireAndVerifyClientCert), b.open("job-7", false, 0)
	m := b.meet(server.Shared(), client.Dialling())
	b.must(m.failed)
	b.clients = b.authority("clients")
	b.at = b.at.Add(follow.Every)
	m = b.meet(server.Shared(), client.Dialling())
	wants(t, client.ExplainDialling(m.failed), "does not know the authority authority of clients that has signed our certificate for job-7|--tls-cert FILE")
	b.issue(b.clients, "job-7", issuer.Request{Name: "job-7"})
	b.at = b.at.Add(follow.Every)
	m = b.meet(server.Shared(), client.Dialling())
	b.must(m.failed)
}

// TestUnchangedFilesAreNotRead: a look costs no reading where nothing has changed.
func TestUnchangedFilesAreNotRead(t *testing.T) {
	b := newHarness(t)
	b.issue(b.members, "m1", issuer.Request{Name: "m1", Member: true})
	s := b.open("m1", true, 0)
	b.at = b.at.Add(time.Hour)
	s.Material() // which finds that the files are not young any more
	before := s.Material()
	b.at = b.at.Add(time.Hour)
	if !slices.EqualFunc(s.seen, s.stamps(), follow.Stamp.Fits) || s.Material() != before {
		t.Error("the files are read again")
	}
}
