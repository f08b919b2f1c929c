package jwt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/holdfast-locks/holdfast/internal/follow"
)

// The times of fetches.
const (
	fetchEvery   = 10 * time.Second
	fetchLimit   = 5 * time.Second
	refreshAfter = 5 * time.Minute
)

// remoteKeys are the keys at an issuer, or at the URL of its keys.
type remoteKeys struct {
	issuer string
	url    string // of the keys; empty means that the issuer says it
	client *http.Client
	limit  time.Duration // of a fetch
	logger *slog.Logger
	now    func() time.Time

	mu      sync.Mutex // guards the following fields
	current keys
	fetched time.Time     // when current was
	began   time.Time     // when the latest fetch began
	fetch   chan struct{} // closed at the end of the current fetch; nil without one
	fault   error         // of the latest fetch
}

// find returns the keys that may have signed a token. If there is none, it fetches the keys, or waits for a fetch.
func (r *remoteKeys) find(ctx context.Context, u *unverified) (keys, error) {
	some, done := r.known(u)
	if len(some) > 0 || done == nil {
		return some, r.explain(some)
	}
	return r.await(ctx, u, done)
}

// renewed returns the keys that may have signed a token after a fetch; none if the time for one has not come.
func (r *remoteKeys) renewed(ctx context.Context, u *unverified) (keys, error) {
	r.mu.Lock()
	done := r.begin(r.now())
	r.mu.Unlock()
	if done == nil {
		return nil, nil
	}
	return r.await(ctx, u, done)
}

// await returns the keys that may have signed a token at the end of a fetch.
func (r *remoteKeys) await(ctx context.Context, u *unverified, done <-chan struct{}) (keys, error) {
	select {
	case <-done:
	case <-ctx.Done():
		return nil, refuse(KindUnreachable, r.issuer, "its keys are being fetched: %v", context.Cause(ctx))
	}
	r.mu.Lock()
	some := r.current.candidates(u)
	r.mu.Unlock()
	return some, r.explain(some)
}

// explain returns why there are no keys if the issuer cannot be reached.
func (r *remoteKeys) explain(some keys) error {
	fault := r.problem()
	if len(some) > 0 || fault == nil {
		return nil
	}
	return &Error{KindUnreachable, r.issuer, "the key of the token is not known, and", fault}
}

// known returns the known keys that may have signed a token, and a fetch that ends soon, if any.
func (r *remoteKeys) known(u *unverified) (some keys, done <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	some = r.current.candidates(u)
	now := r.now()
	if len(some) == 0 || now.Sub(r.fetched) >= refreshAfter {
		return some, r.begin(now)
	}
	return some, r.fetch
}

// begin returns the fetch that is under way. It begins one if there is none and the time has come. It is called with the
// mutex held.
func (r *remoteKeys) begin(now time.Time) <-chan struct{} {
	if r.fetch == nil && (r.began.IsZero() || now.Sub(r.began) >= fetchEvery) {
		r.began, r.fetch = now, make(chan struct{})
		go r.refresh(r.fetch)
	}
	return r.fetch
}

// refresh fetches the keys. No caller's context ends it: others wait for it, too.
func (r *remoteKeys) refresh(done chan<- struct{}) {
	defer close(done)
	ctx, cancel := context.WithTimeout(context.Background(), r.limit)
	defer cancel()
	found, err := r.get(ctx)
	if err != nil {
		err = fmt.Errorf("fetch the keys of issuer %q: %w", r.issuer, err)
	}
	if before := r.problem(); err != nil && (before == nil || before.Error() != err.Error()) {
		r.logger.Error("the keys of an issuer cannot be fetched; the previous ones, if any, stay in use", "why", err.Error())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fault = err; err == nil {
		r.current, r.fetched = found, r.now()
	}
	r.fetch = nil
}

// problem returns why the latest fetch failed.
func (r *remoteKeys) problem() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fault
}

// get asks for the keys, and before for their URL if that is not known.
func (r *remoteKeys) get(ctx context.Context) (keys, error) {
	at := r.url
	if at == "" {
		provider, err := oidc.NewProvider(oidc.ClientContext(ctx, r.client), r.issuer)
		var other *oidc.IssuerMismatchError
		switch {
		case errors.As(err, &other):
			return nil, fmt.Errorf("the discovery of OpenID Connect is for issuer %.200q", other.Discovered)
		case err != nil:
			return nil, fmt.Errorf("the discovery of OpenID Connect: %w", err)
		}
		var document struct {
			Keys string `json:"jwks_uri"`
		}
		if err := provider.Claims(&document); err != nil {
			return nil, fmt.Errorf("the discovery of OpenID Connect: %w", err)
		}
		at = document.Keys
		if err := checkURL(at); err != nil {
			return nil, fmt.Errorf("the discovery of OpenID Connect has the jwks_uri %.200q: %w", at, err)
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	answer, err := r.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %q", at, answer.Status)
	}
	data, err := follow.ReadAll(answer.Body, mostKeyBytes)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", at, err)
	}
	found, err := parseKeys(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	return found, nil
}

// newHTTPClient returns a client for issuers. It trusts the machine's authorities, and keeps no connection.
func newHTTPClient() *http.Client {
	return &http.Client{
		Transport: bounded{&http.Transport{
			Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, ForceAttemptHTTP2: true,
			MaxResponseHeaderBytes: 64 << 10,
		}},
		CheckRedirect: func(to *http.Request, via []*http.Request) error {
			if len(via) > 3 {
				return errors.New("it redirects more than 3 times")
			}
			return checkURL(to.URL.String())
		},
	}
}

// bounded bounds the answers of a transport.
type bounded struct{ http.RoundTripper }

// RoundTrip exchanges a request for its answer, which has at most one byte more than a set of keys may have.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, mostKeyBytes+1), answer.Body}
	}
	return answer, err
}

// checkURL returns why keys cannot be fetched from a URL: a machine on the way could replace them.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "":
		return errors.New("it is not a URL of a server; write it as in https://login.example/keys")
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && isLoopback(u.Hostname()):
		return nil
	case u.Scheme == "http":
		return errors.New("it is not encrypted; use https, or a host of this machine")
	}
	return errors.New("its scheme is not https")
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
