package oidc

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/holdfast-locks/holdfast/internal/access/jwt"
)

// issuer is a running provider. The test decides which key it signs with, and what its tokens say.
type issuer struct {
	*storage.Storage
	url string

	mu       sync.Mutex
	key      *signingKey
	audience string
	lives    time.Duration
	groups   any
}

// signingKey implements op.SigningKey and op.Key.
type signingKey struct {
	id     string
	secret *ecdsa.PrivateKey
}

func (k *signingKey) ID() string                                  { return k.id }
func (k *signingKey) Algorithm() jose.SignatureAlgorithm          { return jose.ES256 }
func (k *signingKey) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.ES256 }
func (k *signingKey) Use() string                                 { return "sig" }
func (k *signingKey) Key() any                                    { return k.secret }

// publicKey is a signingKey as it is published.
type publicKey struct{ *signingKey }

func (k publicKey) Key() any { return &k.secret.PublicKey }

// rotate replaces the key.
func (i *issuer) rotate(t *testing.T, id string) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.key = &signingKey{id, secret}
}

// SigningKey returns the key that signs.
func (i *issuer) SigningKey(context.Context) (op.SigningKey, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.key, nil
}

// SignatureAlgorithms returns the algorithm of the key.
func (i *issuer) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{jose.ES256}, nil
}

// KeySet returns the published keys.
func (i *issuer) KeySet(context.Context) ([]op.Key, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return []op.Key{publicKey{i.key}}, nil
}

// serviceUser gets JWTs instead of opaque tokens.
type serviceUser struct{ op.Client }

// AccessTokenType returns that tokens are JWTs.
func (serviceUser) AccessTokenType() op.AccessTokenType { return op.AccessTokenTypeJWT }

// ClientCredentials authenticates a service user.
func (i *issuer) ClientCredentials(ctx context.Context, id, secret string) (op.Client, error) {
	known, err := i.Storage.ClientCredentials(ctx, id, secret)
	if err != nil {
		return nil, err
	}
	return serviceUser{known}, nil
}

// ClientCredentialsTokenRequest says for what a token is.
func (i *issuer) ClientCredentialsTokenRequest(_ context.Context, id string, scopes []string) (op.TokenRequest, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return &oidc.JWTTokenRequest{Subject: id, Audience: []string{i.audience}, Scopes: scopes}, nil
}

// CreateAccessToken says how long a token is valid.
func (i *issuer) CreateAccessToken(ctx context.Context, request op.TokenRequest) (string, time.Time, error) {
	id, _, err := i.Storage.CreateAccessToken(ctx, request)
	i.mu.Lock()
	defer i.mu.Unlock()
	return id, time.Now().Add(i.lives), err
}

// GetPrivateClaimsFromScopes returns the groups.
func (i *issuer) GetPrivateClaimsFromScopes(context.Context, string, string, []string) (map[string]any, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return map[string]any{"groups": i.groups}, nil
}

// start starts a provider.
func start(t *testing.T) *issuer {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	at := "http://" + server.Listener.Addr().String()
	i := &issuer{
		Storage: storage.NewStorage(storage.NewUserStore(at)), url: at,
		audience: "holdfast", lives: time.Hour, groups: []string{"ops", "dev"},
	}
	i.rotate(t, "first")
	server.Config.Handler = exampleop.SetupServer(at, i, slog.New(slog.DiscardHandler), false)
	server.Start()
	t.Cleanup(server.Close)
	return i
}

// token gets a token for the service user, as a program does.
func (i *issuer) token(t *testing.T) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, i.url+"/oauth/token",
		strings.NewReader(url.Values{"grant_type": {"client_credentials"}, "scope": {"openid"}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth("sid1", "verysecret")
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var body struct {
		AccessToken string `json:"access_token"`
		Error       string `json:"error_description"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil || body.AccessToken == "" {
		t.Fatalf("the issuer answers %s: %v, %s", answer.Status, err, body.Error)
	}
	return body.AccessToken
}

// verifier returns a verifier of the issuer's tokens that finds its keys by discovery, and a function that moves its
// clock.
func (i *issuer) verifier(t *testing.T) (*jwt.Verifier, func(time.Duration)) {
	t.Helper()
	var mu sync.Mutex
	var ahead time.Duration
	v, err := jwt.NewAt([]jwt.Issuer{{URL: i.url, Audience: "holdfast", Groups: "groups"}}, nil, func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return time.Now().Add(ahead)
	})
	if err != nil {
		t.Fatal(err)
	}
	return v, func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		ahead += d
	}
}

func TestRealIssuer(t *testing.T) {
	i := start(t)
	v, _ := i.verifier(t)
	raw := i.token(t)
	got, err := v.Verify(t.Context(), raw)
	if err != nil || got.Subject != "sid1" || got.Issuer != i.url || strings.Join(got.Groups, " ") != "ops dev" || !jwt.Looks(raw) {
		t.Errorf("%+v, %v", got, err)
	}
	i.groups = "ops"
	if got, err := v.Verify(t.Context(), i.token(t)); err != nil || len(got.Groups) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	i.audience = "another"
	if _, err := v.Verify(t.Context(), i.token(t)); jwt.Kind(err) != jwt.KindAudience {
		t.Errorf("%v, want the audience", err)
	}
	if _, err := v.Verify(t.Context(), raw[:len(raw)-8]+"AAAAAAAA"); jwt.Kind(err) != jwt.KindSignature {
		t.Errorf("%v, want the signature", err)
	}
}

// TestTimes has the tokens of a real issuer around their times.
func TestTimes(t *testing.T) {
	i := start(t)
	i.lives = 10 * time.Minute
	v, pass := i.verifier(t)
	raw := i.token(t)
	verify := func(after time.Duration) string {
		pass(after)
		defer pass(-after)
		_, err := v.Verify(t.Context(), raw)
		return jwt.Kind(err)
	}
	for _, tt := range []struct {
		after time.Duration
		kind  string
	}{
		{0, ""}, {-50 * time.Second, ""}, {-70 * time.Second, jwt.KindNotYetValid},
		{10*time.Minute + 50*time.Second, ""}, {11*time.Minute + 10*time.Second, jwt.KindExpired},
	} {
		if kind := verify(tt.after); kind != tt.kind {
			t.Errorf("%v later it is %q, want %q", tt.after, kind, tt.kind)
		}
	}
}

// TestRealRotation: the issuer signs with a new key.
func TestRealRotation(t *testing.T) {
	i := start(t)
	v, pass := i.verifier(t)
	old := i.token(t)
	if _, err := v.Verify(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	i.rotate(t, "second")
	raw := i.token(t)
	if _, err := v.Verify(t.Context(), raw); jwt.Kind(err) != jwt.KindSignature {
		t.Errorf("the keys are fetched too early: %v", err)
	}
	pass(10 * time.Second)
	if _, err := v.Verify(t.Context(), raw); err != nil {
		t.Error(err)
	}
	if _, err := v.Verify(t.Context(), old); jwt.Kind(err) != jwt.KindSignature {
		t.Errorf("a key that the issuer has withdrawn: %v", err)
	}
}
