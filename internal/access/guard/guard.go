package guard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/internal/access"
	"github.com/holdfast-locks/holdfast/internal/access/jwt"
	"github.com/holdfast-locks/holdfast/internal/access/token"
	"github.com/holdfast-locks/holdfast/internal/audit"
	"github.com/holdfast-locks/holdfast/internal/follow"
	"github.com/holdfast-locks/holdfast/internal/private"
)

// Anyone is the File of a Config with which every caller may do everything.
const Anyone = "none"

// Config configures a Guard.
type Config struct {
	// File is the path of the policy. Empty means the default policy, Anyone that every caller may do everything.
	File string
	// Insecure accepts a policy, and keys of issuers, that other users of the machine can write.
	Insecure bool
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
	insecure  bool
	tokens    *token.File
	log       *audit.Log
	unaudited bool
	logger    *slog.Logger
	now       func() time.Time

	followed *follow.File[*policy]
	used     uses
}

// policy is a policy in force.
type policy struct {
	*access.Policy
	since time.Time
	jwts  *jwt.Verifier // nil without issuers
}

// Open returns a guard, after it has read the policy. The error names the file and what is wrong with it.
func Open(c Config) (*Guard, error) {
	g := &Guard{file: c.File, insecure: c.Insecure, tokens: c.Tokens, log: c.Audit, unaudited: c.Unaudited, logger: c.Logger, now: c.Now}
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
	switch g.file {
	case "":
		g.followed = follow.Fixed(&policy{Policy: access.Default(), since: g.now()})
	case Anyone:
		g.followed = follow.Fixed(&policy{Policy: access.Open(), since: g.now()})
		g.logger.Warn("every caller may do everything, because access is none: break locks, download snapshots and stop this member")
	default:
		var err error
		if g.followed, err = follow.Open(follow.Options[*policy]{
			What: "the policy", Path: g.file, Most: mostBytes, Accept: g.accept, Parse: g.parse, Good: g.reportGood, Bad: g.reportBad, Now: g.now,
		}); err != nil {
			return nil, err
		}
	}
	state := g.State()
	g.log.Add(audit.Entry{Event: audit.Policy, Result: "ok", Detail: fmt.Sprintf("%s: digest %s, since the start", state.Source, state.Digest)})
	return g, nil
}

// mostBytes bounds the file of a policy.
const mostBytes = 4 << 20

// accept returns why a file of that kind is not read.
func (g *Guard) accept(info fs.FileInfo) error {
	if wrong := private.OfRules(g.file, info); wrong != nil && !g.insecure {
		return errors.New(wrong.Reason())
	}
	return follow.Regular(info)
}

// parse returns the policy of a file, if its own assertions hold: the one in force, if that is the same.
func (g *Guard) parse(data []byte) (*policy, error) {
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
	if g.followed != nil && g.inForce().Digest() == p.Digest() {
		return g.inForce(), nil
	}
	for _, warning := range p.Warnings() {
		g.logger.Warn("the policy says something that has no effect", "file", g.file, "line", warning.Line, "what", warning.Wrong)
	}
	next := &policy{Policy: p, since: g.now()}
	if issuers := p.Issuers(); len(issuers) > 0 {
		all := make([]jwt.Issuer, len(issuers))
		for i, one := range issuers {
			all[i] = jwt.Issuer{URL: one.URL, Audience: one.Audience, JWKS: g.found(one.JWKS), Groups: one.Groups, Insecure: g.insecure}
		}
		if next.jwts, err = jwt.New(all, g.logger); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// inForce returns the policy in force.
func (g *Guard) inForce() *policy { return g.followed.Value() }

// mostFailures bounds the failed tests that are named.
const mostFailures = 4

// found returns where the keys of an issuer are: a file is next to that of the policy, unless its path is absolute.
func (g *Guard) found(keys string) string {
	if keys == "" || strings.Contains(keys, "://") || filepath.IsAbs(keys) {
		return keys
	}
	return filepath.Join(filepath.Dir(g.file), keys)
}

// Policy returns the policy in force. Callers that keep it compare it with the next result to learn of a change.
func (g *Guard) Policy() *access.Policy { return g.inForce().Policy }

// State describes the policy in force.
type State struct {
	Source string // path of its file, default, or none
	Digest string
	Since  time.Time
	Fault  error // of the present contents of the file, whose previous contents are in force; nil if they are in force
}

// State returns the state of the policy.
func (g *Guard) State() State {
	now := g.inForce()
	s := State{Source: g.file, Digest: now.Digest(), Since: now.since, Fault: g.followed.Fault()}
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
	if jwts := g.inForce().jwts; jwts != nil {
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

// Follow reads the policy again whenever its file changes, until ctx ends.
func (g *Guard) Follow(ctx context.Context) {
	if g.file == "" || g.file == Anyone {
		return
	}
	ticker := time.NewTicker(follow.Every)
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
func (g *Guard) Reload() { g.followed.Check() }

// reportBad reports a new fault of the file.
func (g *Guard) reportBad(fault error) {
	g.logger.Error("the policy file has a fault, and the previous policy stays in force", "file", g.file, "error", fault, "digest", g.inForce().Digest())
	g.log.Add(audit.Entry{Event: audit.Policy, Result: "fault", Detail: fault.Error()})
}

// reportGood reports another policy, and that a file has no fault any more.
func (g *Guard) reportGood(now, before *policy, mended bool) {
	switch {
	case now != before:
		g.logger.Info("another policy is in force", "file", g.file, "digest", now.Digest(), "before", before.Digest())
		g.log.Add(audit.Entry{Event: audit.Policy, Result: "ok", Detail: fmt.Sprintf("%s: digest %s, before %s", g.file, now.Digest(), before.Digest())})
	case mended:
		g.logger.Info("the policy file is good again", "file", g.file, "digest", now.Digest())
		g.log.Add(audit.Entry{Event: audit.Policy, Result: "ok", Detail: fmt.Sprintf("%s: digest %s, as before", g.file, now.Digest())})
	}
}
