package jwt

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Issuer is an issuer whose tokens are accepted.
type Issuer struct {
	// URL is the issuer as its tokens name it (iss), to the letter.
	URL string
	// Audience is what a token's audience (aud) must contain.
	Audience string
	// JWKS is where the issuer's keys are: a URL with https, or with http on this machine, or the path of a file. Empty
	// means that the issuer's discovery document says it.
	JWKS string
	// Groups is the name of the claim that lists the caller's groups. Empty means that groups are ignored.
	Groups string
	// Insecure accepts a file of keys that other users of the machine can write.
	Insecure bool
}

// check returns what is wrong with an issuer.
func (i Issuer) check() error {
	switch {
	case i.URL == "":
		return errors.New("it has no URL; write the iss of its tokens, as in https://login.example")
	case checkText(i.URL) != nil:
		return fmt.Errorf("its URL: %w", checkText(i.URL))
	case strings.Contains(i.URL, "#"):
		return errors.New("its URL has a #, which separates it from the subject in names like jwt:URL#SUBJECT; remove the fragment")
	case i.Audience == "":
		return errors.New("it has no audience; without one, a token for any other service would do")
	case i.JWKS == "":
		if err := checkURL(i.URL); err != nil {
			return fmt.Errorf("its keys cannot be discovered at its URL: %w; or name its JWKS", err)
		}
	case isURL(i.JWKS):
		if err := checkURL(i.JWKS); err != nil {
			return fmt.Errorf("its JWKS %q: %w", i.JWKS, err)
		}
	}
	return nil
}

// isURL tells a URL from a path.
func isURL(text string) bool { return strings.Contains(text, "://") }

// source finds the keys of an issuer that may have signed a token.
type source interface {
	// find returns none if the issuer has no such key. The error is an *Error.
	find(ctx context.Context, u *unverified) (keys, error)
	// renewed returns newer ones than find did, if there can be any. The error is an *Error.
	renewed(ctx context.Context, u *unverified) (keys, error)
	// problem returns why the keys may be old; nil if they are not.
	problem() error
}

// Verifier verifies the tokens of some issuers. It is safe for concurrent use, and needs no end.
type Verifier struct {
	issuers map[string]trusted
	now     func() time.Time
	recent  recent
}

// trusted is an issuer with its keys.
type trusted struct {
	Issuer
	keys source
}

// New returns a verifier of the tokens of those issuers. It reads their files of keys, and returns an error if that
// fails; URLs are fetched later. A nil logger discards.
func New(issuers []Issuer, logger *slog.Logger) (*Verifier, error) {
	return NewAt(issuers, logger, time.Now)
}

// NewAt is New with another clock than the machine's, for tests.
func NewAt(issuers []Issuer, logger *slog.Logger, now func() time.Time) (*Verifier, error) {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	v := &Verifier{issuers: map[string]trusted{}, now: now}
	for _, i := range issuers {
		if err := i.check(); err != nil {
			return nil, fmt.Errorf("issuer %.200q: %w", i.URL, err)
		}
		if _, twice := v.issuers[i.URL]; twice {
			return nil, fmt.Errorf("issuer %.200q: it is listed twice; list each issuer once", i.URL)
		}
		made := trusted{Issuer: i}
		if i.JWKS == "" || isURL(i.JWKS) {
			made.keys = &remoteKeys{issuer: i.URL, url: i.JWKS, client: newHTTPClient(), limit: fetchLimit, logger: logger, now: now}
		} else {
			path, err := filepath.Abs(i.JWKS)
			if err != nil {
				return nil, fmt.Errorf("issuer %.200q: find the folder of %q: %w", i.URL, i.JWKS, err)
			}
			if made.keys, err = openFile(path, i.Insecure, logger, now); err != nil {
				return nil, fmt.Errorf("issuer %.200q: %w", i.URL, err)
			}
		}
		v.issuers[i.URL] = made
	}
	return v, nil
}

// Verify returns the claims of a token. It may wait until the keys of its issuer are fetched, for up to five seconds.
// The error is an *Error.
//
// A token that was verified a short time ago costs little: only its times are checked again, and that its issuer still
// publishes the key.
func (v *Verifier) Verify(ctx context.Context, raw string) (Claims, error) {
	if len(raw) > mostRaw {
		return Claims{}, refuse(KindMalformed, "", "it has %d bytes; at most %d are accepted", len(raw), mostRaw)
	}
	digest := sha256.Sum256([]byte(raw))
	if known := v.recent.find(digest); known != nil {
		of := v.issuers[known.token.issuer]
		found, err := of.keys.find(ctx, known.token)
		if err == nil && slices.Contains(found, known.key) {
			if err := validate(of.Issuer, known.registered, v.now()); err != nil {
				return Claims{}, err
			}
			return known.result(), nil
		}
	}
	u, err := parse(raw)
	if err != nil {
		return Claims{}, err
	}
	of, known := v.issuers[u.issuer]
	if !known {
		return Claims{}, refuse(KindIssuer, u.issuer, "this issuer is not trusted; %s", v.listed())
	}
	found, err := of.keys.find(ctx, u)
	if err != nil {
		return Claims{}, err
	}
	key := found.verify(u)
	if key == nil && u.key == "" && len(found) > 0 { // its key may be newer than these
		if found, err = of.keys.renewed(ctx, u); err != nil {
			return Claims{}, err
		}
		key = found.verify(u)
	}
	switch {
	case key == nil && u.key == "":
		return Claims{}, refuse(KindSignature, u.issuer, "its signature is not valid: it names no key (kid), and none of the issuer's has signed it with %s", u.algorithm)
	case len(found) == 0:
		return Claims{}, refuse(KindSignature, u.issuer, "the issuer has no key with the id (kid) %.100q", u.key)
	case key == nil:
		return Claims{}, refuse(KindSignature, u.issuer, "its signature is not valid: the issuer's key has not signed it with %s", u.algorithm)
	}
	registered, claims, err := check(of.Issuer, u, v.now())
	if err != nil {
		return Claims{}, err
	}
	made := &verified{token: u, key: key, registered: registered, claims: claims}
	v.recent.add(digest, made)
	return made.result(), nil
}

// listed names the trusted issuers.
func (v *Verifier) listed() string {
	if len(v.issuers) == 0 {
		return "no issuer is configured"
	}
	return fmt.Sprintf("the trusted ones are %.400q", slices.Sorted(maps.Keys(v.issuers)))
}

// Faults returns, in order of the issuers' URLs, why the keys of some may be old. Such an issuer's known keys stay in
// use.
func (v *Verifier) Faults() (faults []error) {
	for _, url := range slices.Sorted(maps.Keys(v.issuers)) {
		if err := v.issuers[url].keys.problem(); err != nil {
			faults = append(faults, err)
		}
	}
	return faults
}
