package jwt

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	jose_jwt "github.com/go-jose/go-jose/v4/jwt"
)

// signer signs tokens with a key that has an id.
type signer struct {
	id  string
	key *ecdsa.PrivateKey
}

func newSigner(t testing.TB, id string) signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signer{id, key}
}

func (s signer) public() jose.JSONWebKey {
	return jose.JSONWebKey{Key: &s.key.PublicKey, KeyID: s.id, Algorithm: "ES256", Use: "sig"}
}

// sign returns a token with those claims.
func (s signer) sign(t testing.TB, claims map[string]any) string {
	t.Helper()
	return signed(t, jose.ES256, jose.JSONWebKey{Key: s.key, KeyID: s.id}, claims)
}

func signed(t testing.TB, algorithm jose.SignatureAlgorithm, key any, claims map[string]any) string {
	t.Helper()
	made, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := jose_jwt.Signed(made).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func keySet(t testing.TB, all ...jose.JSONWebKey) []byte {
	t.Helper()
	data, err := json.Marshal(jose.JSONWebKeySet{Keys: all})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// timer is a clock that the test moves.
type timer struct {
	mu  sync.Mutex
	now time.Time
}

func newTimer() *timer { return &timer{now: time.Now()} }

func (c *timer) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *timer) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// claims returns the claims of a token that an issuer's verifier accepts.
func (c *timer) claims(issuer string) map[string]any {
	now := c.time()
	return map[string]any{
		"iss": issuer, "aud": "holdfast", "sub": "ann", "iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}
}

// with returns changed claims. Nil removes a claim.
func with(claims map[string]any, name string, value any) map[string]any {
	if claims[name] = value; value == nil {
		delete(claims, name)
	}
	return claims
}

// provider is an issuer on loopback. The test decides what it answers.
type provider struct {
	*httptest.Server
	asked   atomic.Int32 // requests of keys
	down    atomic.Bool
	silent  chan struct{} // if not nil, keys are answered when it is closed
	mu      sync.Mutex
	answer  []byte
	jwksURI string // "" means its own
}

func newProvider(t testing.TB, silent chan struct{}, all ...jose.JSONWebKey) *provider {
	t.Helper()
	p := &provider{silent: silent}
	p.publish(keySet(t, all...))
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	return p
}

func (p *provider) publish(answer []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
}

func (p *provider) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	answer, keys := p.answer, p.jwksURI
	p.mu.Unlock()
	if keys == "" {
		keys = p.URL + "/keys"
	}
	switch {
	case p.down.Load():
		http.Error(w, "it is being repaired", http.StatusBadGateway)
	case r.URL.Path == "/.well-known/openid-configuration":
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": p.URL, "jwks_uri": keys})
	case r.URL.Path == "/keys":
		p.asked.Add(1)
		if p.silent != nil {
			select {
			case <-p.silent:
			case <-r.Context().Done():
			}
		}
		_, _ = w.Write(answer)
	default:
		http.NotFound(w, r)
	}
}

// verifier returns a Verifier of one issuer, with its log.
func verifier(t testing.TB, c *timer, of Issuer) (*Verifier, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	of.Audience = "holdfast"
	v, err := NewAt([]Issuer{of}, slog.New(slog.NewTextHandler(&log, nil)), c.time)
	if err != nil {
		t.Fatal(err)
	}
	return v, &log
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
