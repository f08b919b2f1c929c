package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-locks/holdfast/internal/access"
	"github.com/holdfast-locks/holdfast/internal/access/jwt"
	"github.com/holdfast-locks/holdfast/internal/access/token"
	"github.com/holdfast-locks/holdfast/internal/audit"
)

// Anyone is the File of a Config with which every caller may do everything.
const Anyone = "none"

// Config configures a Guard.
type Config struct {
	// File is the path of the policy. Empty means the default policy, Anyone that every caller may do everything.
	File string
	// Tokens are the tokens that the member accepts. Nil means none.
	Tokens *token.File
	// Audit is the audit log. Nil means one that keeps its latest entries in memory.
	Audit *audit.Log
	// Unaudited lets operators' calls pass while the audit log cannot be written.
	Unaudited bool
	// Logger is the member's log. Nil discards.
	Logger *slog.Logger
	// Now returns the wall time, for tokens. Nil means time.Now.
	Now func() time.Time
}

// Guard knows the policy in force. It is safe for concurrent use.
type Guard struct {
	file      string
	tokens    *token.File
	log       *audit.Log
	unaudited bool
	logger    *slog.Logger
	now       func() time.Time

	current atomic.Pointer[policy]
	used    uses

	mu    sync.Mutex // guards the rest
	seen  fs.FileInfo
	fault error // of the present contents of the file
}

// policy is a policy in force.
type policy struct {
	*access.Policy
	since time.Time
	jwts  *jwt.Verifier // nil without issuers
}

// Open returns a guard, after it has read the policy. The error names the file and what is wrong with it.
func Open(c Config) (*Guard, error) {
	g := &Guard{file: c.File, tokens: c.Tokens, log: c.Audit, unaudited: c.Unaudited, logger: c.Logger, now: c.Now}
	if g.logger == nil {
		g.logger = slog.New(slog.DiscardHandler)
	}
	if g.now == nil {
		g.now = time.Now
	}
	if g.log == nil {
		log, err := audit.Open(audit.Config{})
		if err != nil {
			return nil, err
		}
		g.log = log
	}
	first := access.Default()
	switch g.file {
	case "":
	case Anyone:
		first = access.Open()
		g.logger.Warn("every caller may do everything, because access is none: break locks, download snapshots and stop this member")
	default:
		data, info, err := read(g.file)
		if err == nil {
			first, err = g.parse(data)
		}
		if err != nil {
			return nil, fmt.Errorf("read the policy %s: %w", g.file, err)
		}
		g.seen = info
	}
	if err := g.adopt(first); err != nil {
		return nil, fmt.Errorf("read the policy %s: %w", g.file, err)
	}
	state := g.State()
	g.log.Add(audit.Entry{Event: audit.Policy, Result: "ok", Detail: fmt.Sprintf("%s: digest %s, since the start", state.Source, state.Digest)})
	return g, nil
}

// mostBytes bounds the file of a policy.
const mostBytes = 4 << 20

// read reads a file, with what identifies its contents.
func read(path string) ([]byte, fs.FileInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, plain(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, plain(err)
	}
	data, err := io.ReadAll(io.LimitReader(f, mostBytes+1))
	if err == nil && len(data) > mostBytes {
		err = fmt.Errorf("it has more than %d bytes", mostBytes)
	}
	return data, info, plain(err)
}

// plain returns the system's reason without the path, which the sentence around it has.
func plain(err error) error {
	if system, is := errors.AsType[*fs.PathError](err); is {
		return system.Err
	}
	return err
}

// parse returns the policy of a file, if its own assertions hold.
func (g *Guard) parse(data []byte) (*access.Policy, error) {
	p, err := access.Parse(data)
	if err != nil {
		return nil, err
	}
	failures := p.Test()
	for i, failure := range failures {
		if err = errors.Join(err, errors.New(failure.String())); i == mostFailures {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%d of its own tests fail: %w", len(failures), err)
	}
	for _, warning := range p.Warnings() {
		g.logger.Warn("the policy says something that has no effect", "file", g.file, "line", warning.Line, "what", warning.Wrong)
	}
	return p, nil
}

// mostFailures bounds the failed tests that are named.
const mostFailures = 4

// found returns where the keys of an issuer are: a file is next to that of the policy, unless its path is absolute.
func (g *Guard) found(keys string) string {
	if keys == "" || strings.Contains(keys, "://") || filepath.IsAbs(keys) {
		return keys
	}
	return filepath.Join(filepath.Dir(g.file), keys)
}

// adopt makes a policy the one in force.
func (g *Guard) adopt(p *access.Policy) error {
	next := &policy{Policy: p, since: g.now()}
	if issuers := p.Issuers(); len(issuers) > 0 {
		all := make([]jwt.Issuer, len(issuers))
		for i, one := range issuers {
			all[i] = jwt.Issuer{URL: one.URL, Audience: one.Audience, JWKS: g.found(one.JWKS), Groups: one.Groups}
		}
		verifier, err := jwt.New(all, g.logger)
		if err != nil {
			return err
		}
		next.jwts = verifier
	}
	g.current.Store(next)
	return nil
}

// Policy returns the policy in force. Callers that keep it compare it with the next result to learn of a change.
func (g *Guard) Policy() *access.Policy { return g.current.Load().Policy }

// State describes the policy in force.
type State struct {
	Source string // path of its file, default, or none
	Digest string
	Since  time.Time
	Fault  error // of the present contents of the file, whose previous contents are in force; nil if they are in force
}

// State returns the state of the policy.
func (g *Guard) State() State {
	now := g.current.Load()
	g.mu.Lock()
	defer g.mu.Unlock()
	s := State{Source: g.file, Digest: now.Digest(), Since: now.since, Fault: g.fault}
	if s.Source == "" {
		s.Source = "default"
	}
	return s
}

// Fault returns why the member decides by something other than its files say, or cannot keep its audit log; nil if all
// is well.
func (g *Guard) Fault() error {
	fault := g.State().Fault
	if g.tokens != nil {
		fault = errors.Join(fault, g.tokens.Fault())
	}
	if jwts := g.current.Load().jwts; jwts != nil {
		fault = errors.Join(append(jwts.Faults(), fault)...)
	}
	return errors.Join(fault, g.log.Fault())
}

// Audit returns the audit log.
func (g *Guard) Audit() *audit.Log { return g.log }

// Tokens returns the tokens that the member accepts; nil if there are none.
func (g *Guard) Tokens() *token.File { return g.tokens }

// MayOperate returns why no operator's call is taken now: the audit log cannot be written.
func (g *Guard) MayOperate() error {
	if g.unaudited {
		return nil
	}
	return g.log.Ready()
}

// followEvery is how often the file is looked at.
const followEvery = time.Second

// Follow reads the policy again whenever its file changes, until ctx ends.
func (g *Guard) Follow(ctx context.Context) {
	if g.file == "" || g.file == Anyone {
		return
	}
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			g.Reload()
		}
	}
}

// Reload reads the policy again if its file has changed. A file with a fault leaves the previous policy in force, and is
// reported once.
func (g *Guard) Reload() {
	if g.file == "" || g.file == Anyone {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if info, err := os.Stat(g.file); err == nil && g.seen != nil && os.SameFile(info, g.seen) &&
		info.ModTime().Equal(g.seen.ModTime()) && info.Size() == g.seen.Size() {
		return
	}
	before := g.current.Load()
	data, info, err := read(g.file)
	g.seen = info
	var next *access.Policy
	if err == nil {
		next, err = g.parse(data)
	}
	if err == nil && next.Digest() != before.Digest() {
		err = g.adopt(next)
	}
	g.report(before, err)
}

// report logs a change of the policy, or a new fault of its file.
func (g *Guard) report(before *policy, err error) {
	now := g.current.Load()
	switch {
	case err != nil && (g.fault == nil || g.fault.Error() != err.Error()):
		g.logger.Error("the policy file has a fault, and the previous policy stays in force", "file", g.file, "error", err, "digest", now.Digest())
		g.log.Add(audit.Entry{Event: audit.Policy, Result: "fault", Detail: fmt.Sprintf("%s: %v", g.file, err)})
	case err == nil && now != before:
		g.logger.Info("another policy is in force", "file", g.file, "digest", now.Digest(), "before", before.Digest())
		g.log.Add(audit.Entry{Event: audit.Policy, Result: "ok", Detail: fmt.Sprintf("%s: digest %s, before %s", g.file, now.Digest(), before.Digest())})
	case err == nil && g.fault != nil:
		g.logger.Info("the policy file is good again", "file", g.file, "digest", now.Digest())
		g.log.Add(audit.Entry{Event: audit.Policy, Result: "ok", Detail: fmt.Sprintf("%s: digest %s, as before", g.file, now.Digest())})
	}
	g.fault = err
}
