package certificate

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-locks/holdfast/internal/follow"
)

// Options configures a Store.
type Options struct {
	Files Files
	// ClientAuth is the requirement on clients: tls.NoClientCert, tls.VerifyClientCertIfGiven or
	// tls.RequireAndVerifyClientCert. It does not apply to outgoing connections.
	ClientAuth tls.ClientAuthType
	// MinVersion is the lowest version of TLS, tls.VersionTLS12 or tls.VersionTLS13. Zero means 1.3. With 1.2 only suites
	// with authenticated encryption and ephemeral keys are used.
	MinVersion uint16
	// Names are the names of the members, or patterns as in path.Match. Empty means every name.
	Names []string
	// Logger is the store's logger. Nil discards.
	Logger *slog.Logger
}

// Store has the newest material. It is safe for concurrent use.
type Store struct {
	files  Files
	fixed  *tls.Config // of Fixed; nil if there are files
	auth   tls.ClientAuthType
	names  []string // or patterns of them; empty for all
	key    string   // of the names, in the configuration
	lowest uint16   // version of TLS
	logger *slog.Logger
	now    func() time.Time

	current atomic.Pointer[made]

	mu       sync.Mutex // guards the following fields; held while files are read
	looked   time.Time
	seen     []follow.Stamp
	reported string
	need     func(*Material) error
}

// made is material with its crypto/tls configuration.
type made struct {
	*Material
	shared, web *tls.Config
}

// Open reads the files. The error names the faulty file.
func Open(o Options) (*Store, error) {
	s := &Store{files: o.Files, auth: o.ClientAuth, lowest: cmp.Or(o.MinVersion, tls.VersionTLS13), logger: o.Logger, now: time.Now}
	if err := s.list("tls.members", o.Names); err != nil {
		return nil, err
	}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	seen := s.stamps()
	m, err := Read(o.Files)
	if err != nil {
		return nil, err
	}
	if err := m.checkClientAuth(s.auth); err != nil {
		return nil, err
	}
	s.seen, s.looked = seen, s.now()
	s.keep(m)
	if err := m.expired(s.now()); err != nil {
		s.logger.Error("no peer will accept this certificate: "+err.Error(), "file", o.Files.Cert)
	}
	return s, nil
}

// list keeps the names of the members, or patterns of them, which have a key in the configuration.
func (s *Store) list(key string, names []string) error {
	for _, pattern := range names {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("%s: %q: %w", key, pattern, err)
		}
	}
	s.key, s.names = key, names
	return nil
}

// Fixed returns a Store of a fixed configuration: RootCAs are the members' authorities, and ClientCAs the clients', or,
// if nil, RootCAs. Its MinVersion counts; zero means TLS 1.3. The names are those of Options.
func Fixed(c *tls.Config, names ...string) (*Store, error) {
	s := &Store{fixed: c.Clone(), auth: c.ClientAuth, lowest: cmp.Or(c.MinVersion, tls.VersionTLS13), logger: slog.New(slog.DiscardHandler), now: time.Now}
	if err := s.list("Members", names); err != nil {
		return nil, err
	}
	m := &Material{Members: c.RootCAs, Clients: c.ClientCAs, either: x509.NewCertPool()}
	if m.Clients == nil {
		m.Clients = c.RootCAs
	}
	m.either, m.overlap = m.Clients, !m.twoAuthorities()
	if len(c.Certificates) > 0 {
		own := c.Certificates[0]
		if own.Leaf == nil && len(own.Certificate) > 0 {
			leaf, err := x509.ParseCertificate(own.Certificate[0])
			if err != nil {
				return nil, fmt.Errorf("read the certificate: %w", err)
			}
			own.Leaf = leaf
		}
		m.Certificate = &own
	}
	if err := m.checkClientAuth(s.auth); err != nil {
		return nil, err
	}
	s.keep(m)
	return s, nil
}

// checkClientAuth returns why the requirement on clients is impossible.
func (m *Material) checkClientAuth(auth tls.ClientAuthType) error {
	if auth >= tls.VerifyClientCertIfGiven && m.Clients == nil { // with none, crypto/tls would trust every public authority
		return errors.New("clients' certificates can only be checked against authorities, and none is given (tls.ca, tls.client_ca)")
	}
	return nil
}

// Require demands that the certificate is a member's with this name, now and at each reload.
func (s *Store) Require(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.need = func(m *Material) error { return errors.Join(m.own(name), s.listed(name)) }
	return s.need(s.current.Load().Material)
}

// Release cancels Require.
func (s *Store) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.need = nil
}

// Material returns the newest material, after a check of the files if the last one was a while ago.
func (s *Store) Material() *Material { return s.newest().Material }

func (s *Store) newest() *made {
	if s.fixed == nil && s.mu.TryLock() { // otherwise another goroutine checks
		if now := s.now(); now.Sub(s.looked) >= follow.Every {
			s.looked = now
			s.look()
		}
		s.mu.Unlock()
	}
	return s.current.Load()
}

// look reloads the files if one of them has changed.
func (s *Store) look() {
	seen := s.stamps()
	if slices.EqualFunc(s.seen, seen, follow.Stamp.Fits) {
		return
	}
	m, err := Read(s.files)
	s.seen = seen
	switch now := s.now(); {
	case err != nil:
	case m.Same(s.current.Load().Material):
		s.reported = ""
		return
	default:
		if err = m.expired(now); err != nil {
			s.seen = nil // it may be valid later
		}
	}
	if err == nil {
		err = m.checkClientAuth(s.auth)
	}
	if err == nil && s.need != nil {
		err = s.need(m)
	}
	if err != nil {
		if text := err.Error(); text != s.reported {
			s.reported = text
			s.logger.Error("the changed TLS files cannot be loaded; the previous ones stay in use", "why", text)
		}
		return
	}
	s.reported = ""
	s.keep(m)
	attrs := []any{}
	if m.Certificate != nil {
		attrs = append(attrs, "certificate", Names(m.Certificate.Leaf), "until", instant(m.Certificate.Leaf.NotAfter))
	}
	s.logger.Info("the TLS files were read again", attrs...)
}

// stamps checks the files without reading them.
func (s *Store) stamps() (all []follow.Stamp) {
	for _, path := range s.files.list() {
		all = append(all, follow.Stat(path, s.now()))
	}
	return all
}

// keep makes m the current material.
func (s *Store) keep(m *Material) {
	s.current.Store(&made{m, s.sharedConfig(m), s.webConfig(m)})
}
