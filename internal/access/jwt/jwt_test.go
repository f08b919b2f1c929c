package jwt

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const login = "https://login.example"

// TestClaims accepts and refuses tokens whose signature is valid.
func TestClaims(t *testing.T) {
	s, c := newSigner(t, "one"), newTimer()
	path := filepath.Join(t.TempDir(), "keys.json")
	write(t, path, keySet(t, s.public()))
	v, _ := verifier(t, c, Issuer{URL: login, JWKS: path, Groups: "groups"})
	now := c.time()
	at := func(d time.Duration) int64 { return now.Add(d).Unix() }
	for _, tt := range []struct {
		name, claim string
		value       any
		kind, want  string // "" means that it is accepted
	}{
		{"as it is", "x", 1, "", ""},
		{"expired within the skew", "exp", at(-58 * time.Second), "", ""},
		{"expired", "exp", at(-62 * time.Second), KindExpired, `token of issuer "https://login.example": expired at 2`},
		{"without expiry", "exp", nil, KindMalformed, "it has no time of expiry (exp)"},
		{"expiry as a text", "exp", "never", KindMalformed, "of a wrong type"},
		{"valid soon, within the skew", "nbf", at(58 * time.Second), "", ""},
		{"valid soon", "nbf", at(62 * time.Second), KindNotYetValid, "not valid before 2"},
		{"no nbf", "nbf", nil, "", ""},
		{"issued in the future", "iat", at(62 * time.Second), KindNotYetValid, "in the future"},
		{"several audiences", "aud", []string{"x", "holdfast"}, "", ""},
		{"another audience", "aud", "holdfast2", KindAudience, `its audience (aud) is ["holdfast2"] and not "holdfast"`},
		{"no audience", "aud", nil, KindAudience, `its audience (aud) is [] and not "holdfast"`},
		{"another issuer", "iss", login + "/", KindIssuer, `this issuer is not trusted; the trusted ones are ["https://login.example"]`},
		{"no issuer", "iss", nil, KindIssuer, "it has no issuer (iss)"},
		{"issuer as a list", "iss", []string{login}, KindMalformed, "with an issuer (iss)"},
		{"no subject", "sub", nil, KindMalformed, "its subject (sub) is refused: it is empty"},
		{"a subject with a line", "sub", "ann\nroot", KindMalformed, "its subject (sub) is refused: it has the character U+000A"},
		{"a subject written backwards", "sub", "ann\u202eroot", KindMalformed, "it has the character U+202E"},
		{"a long subject", "sub", strings.Repeat("a", 256), KindMalformed, "it has 256 bytes; at most 255"},
		{"a group", "groups", "ops", "", ""},
		{"groups", "groups", []string{"ops", "dev"}, "", ""},
		{"groups of numbers", "groups", []int{1}, KindMalformed, `its claim "groups" is a list of other things than texts`},
		{"groups as a number", "groups", 1, KindMalformed, `its claim "groups" is neither a text nor a list of texts`},
		{"a group that is hidden", "groups", []string{"ops\u200b"}, KindMalformed, "it has the character U+200B"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			raw := s.sign(t, with(c.claims(login), tt.claim, tt.value))
			got, err := v.Verify(t.Context(), raw)
			if tt.kind != "" {
				if Kind(err) != tt.kind || !strings.Contains(err.Error(), tt.want) || got.Subject != "" {
					t.Errorf("%v of kind %q, want %s of kind %s", err, Kind(err), tt.want, tt.kind)
				}
				return
			}
			if err != nil || got.Issuer != login || got.Subject != "ann" {
				t.Errorf("%+v, %v", got, err)
			}
			want := map[string][]string{"a group": {"ops"}, "groups": {"ops", "dev"}}[tt.name]
			if !slices.Equal(got.Groups, want) {
				t.Errorf("its groups are %q, want %q", got.Groups, want)
			}
		})
	}
}

// TestForgeries refuses tokens that the issuer has not signed.
func TestForgeries(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	s, other, c := newSigner(t, "one"), newSigner(t, "one"), newTimer()
	path := filepath.Join(t.TempDir(), "keys.json")
	public := jose.JSONWebKey{Key: &rsaKey.PublicKey, KeyID: "two", Use: "sig"}
	write(t, path, keySet(t, s.public(), public))
	v, _ := verifier(t, c, Issuer{URL: login, JWKS: path})
	claims := c.claims(login)
	genuine := signed(t, jose.PS256, jose.JSONWebKey{Key: rsaKey, KeyID: "two"}, claims)
	if _, err := v.Verify(t.Context(), genuine); err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&rsaKey.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	inPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	body := strings.Split(genuine, ".")[1]
	encode := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	parts := strings.Split(s.sign(t, claims), ".")
	for _, tt := range []struct{ name, raw, kind, want string }{
		{"none", encode(`{"alg":"none"}`) + "." + body + ".", KindAlgorithm, `its algorithm is "none"; the issuer must sign with one of RS256`},
		{"None", encode(`{"alg":"None","kid":"one"}`) + "." + body + ".AAAA", KindAlgorithm, `its algorithm is "None"`},
		{"HS256 with the public key", signed(t, jose.HS256, jose.JSONWebKey{Key: inPEM, KeyID: "two"}, claims), KindAlgorithm, `its algorithm is "HS256"`},
		{"HS256 with its DER", signed(t, jose.HS256, jose.JSONWebKey{Key: der, KeyID: "two"}, claims), KindAlgorithm, `its algorithm is "HS256"`},
		{"another key of the same id", other.sign(t, claims), KindSignature, "its signature is not valid"},
		{"the key of another algorithm", signed(t, jose.ES256, jose.JSONWebKey{Key: s.key, KeyID: "two"}, claims), KindSignature, "its signature is not valid"},
		{"an unknown key", newSigner(t, "three").sign(t, claims), KindSignature, `the issuer has no key with the id (kid) "three"`},
		{"changed claims", parts[0] + "." + encode(`{"iss":"`+login+`","sub":"root"}`) + "." + parts[2], KindSignature, "its signature is not valid"},
		{"its own key", embedded(t, other, claims), KindSignature, "its signature is not valid"},
		{"no signature", parts[0] + "." + parts[1] + ".", KindSignature, "its signature is not valid"},
		{"two parts", parts[0] + "." + parts[1], KindMalformed, "it is not a signed JWT"},
		{"five parts", strings.Repeat(parts[0]+".", 4) + parts[0], KindMalformed, "it is not a signed JWT"},
		{"JSON", `{"payload":"","signatures":[]}`, KindMalformed, "it is not a signed JWT"},
		{"nothing", "", KindMalformed, "it is not a signed JWT"},
		{"long", parts[0] + "." + strings.Repeat("A", mostRaw) + "." + parts[2], KindMalformed, "at most 16384 are accepted"},
	} {
		got, err := v.Verify(t.Context(), tt.raw)
		if Kind(err) != tt.kind || got.Subject != "" || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %+v, %v of kind %q; want %s of kind %s", tt.name, got, err, Kind(err), tt.want, tt.kind)
		}
		if err != nil && len(tt.raw) > 40 && strings.Contains(err.Error(), tt.raw[len(tt.raw)-20:]) {
			t.Errorf("%s: the error has the token: %v", tt.name, err)
		}
	}
}

// TestServiceAccountOfKubernetes has a token as the API server projects it into a pod, and its keys in a file, as
// `kubectl get --raw /openid/v1/jwks` shows them.
func TestServiceAccountOfKubernetes(t *testing.T) {
	const cluster = "https://kubernetes.default.svc.cluster.local"
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	path, c := filepath.Join(t.TempDir(), "jwks.json"), newTimer()
	write(t, path, keySet(t, jose.JSONWebKey{Key: &key.PublicKey, KeyID: "OzDv", Algorithm: "RS256", Use: "sig"}))
	v, _ := verifier(t, c, Issuer{URL: cluster, JWKS: path})
	claims := c.claims(cluster)
	with(claims, "aud", []string{"holdfast"})
	with(claims, "sub", "system:serviceaccount:shop:deploy")
	with(claims, "jti", "ea28ed49-2e11-4280-9ec5-bc3d1d84661a")
	with(claims, "kubernetes.io", map[string]any{
		"namespace": "shop", "serviceaccount": map[string]any{"name": "deploy", "uid": "14ee3fa4-a7e2-420f-9f9a-dbc4507c3798"},
	})
	got, err := v.Verify(t.Context(), signed(t, jose.RS256, jose.JSONWebKey{Key: key, KeyID: "OzDv"}, claims))
	if err != nil || got.Subject != "system:serviceaccount:shop:deploy" || got.Issuer != cluster {
		t.Errorf("%+v, %v", got, err)
	}
}

// embedded returns a token that brings the key that has signed it.
func embedded(t *testing.T, s signer, claims map[string]any) string {
	t.Helper()
	made, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: s.key, KeyID: s.id}},
		&jose.SignerOptions{EmbedJWK: true})
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	object, err := made.Sign(data)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := object.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestNewRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	write(t, path, keySet(t, newSigner(t, "one").public()))
	secret := filepath.Join(t.TempDir(), "secret.json")
	write(t, secret, []byte(`{"keys":[{"kty":"oct","k":"AAAA","alg":"HS256"},{"kty":"odd"},1]}`))
	fine := Issuer{URL: login, Audience: "holdfast", JWKS: path}
	for _, tt := range []struct {
		change func(*Issuer)
		want   string
	}{
		{func(i *Issuer) { i.URL = "" }, "it has no URL"},
		{func(i *Issuer) { i.URL += "#a" }, "its URL has a #"},
		{func(i *Issuer) { i.URL += "\n" }, "it has the character U+000A"},
		{func(i *Issuer) { i.Audience = "" }, "it has no audience"},
		{func(i *Issuer) { i.JWKS, i.URL = "", "http://login.example" }, "it is not encrypted; use https"},
		{func(i *Issuer) { i.JWKS, i.URL = "", "kubernetes/serviceaccount" }, "it is not a URL of a server"},
		{func(i *Issuer) { i.JWKS = "http://10.0.0.1/keys" }, "it is not encrypted; use https"},
		{func(i *Issuer) { i.JWKS = "ftp://login.example/keys" }, "its scheme is not https"},
		{func(i *Issuer) { i.JWKS = "https://me:secret@login.example/keys" }, "it is not a URL of a server"},
		{func(i *Issuer) { i.JWKS = path + "x" }, "no such file or directory"},
		{func(i *Issuer) { i.JWKS = secret }, "it has no key that verifies signatures"},
	} {
		bad := fine
		tt.change(&bad)
		if _, err := New([]Issuer{bad}, nil); err == nil || !strings.HasPrefix(err.Error(), "issuer ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
	if _, err := New([]Issuer{fine, fine}, nil); err == nil || !strings.Contains(err.Error(), "it is listed twice") {
		t.Error(err)
	}
	v, err := New([]Issuer{fine, {URL: "http://127.0.0.1:1", Audience: "a"}, {URL: "x", Audience: "a", JWKS: "http://[::1]/k"}}, nil)
	if err != nil || v.Faults() != nil {
		t.Errorf("%v, %v", err, v.Faults())
	}
	if kind := Kind(errors.New("x")); kind != "" {
		t.Errorf("the kind of another error is %q", kind)
	}
}

// TestKeysThatAreLeftOut: of each of these, only the last one verifies.
func TestKeysThatAreLeftOut(t *testing.T) {
	good := newSigner(t, "good")
	encryption := newSigner(t, "encryption").public()
	encryption.Use = "enc"
	private := jose.JSONWebKey{Key: newSigner(t, "x").key, KeyID: "private"}
	weak := jose.JSONWebKey{Key: &rsa.PublicKey{N: new(big.Int).Lsh(big.NewInt(1), leastRSA-2), E: 65537}, KeyID: "weak"}
	long := jose.JSONWebKey{Key: &rsa.PublicKey{N: new(big.Int).Lsh(big.NewInt(1), mostRSA), E: 65537}, KeyID: "long"}
	symmetric := jose.JSONWebKey{Key: []byte("0123456789abcdef0123456789abcdef"), KeyID: "symmetric"}
	found, err := parseKeys(keySet(t, encryption, private, weak, long, symmetric, good.public()))
	if err != nil || len(found) != 1 || found[0].KeyID != "good" {
		t.Errorf("%d keys, %v: %v", len(found), err, found)
	}
	found, err = parseKeys([]byte(`{"keys":[{"kty":"odd"},1,null,{"kty":"EC","crv":"P-256"},{}]}`))
	if err == nil || found != nil {
		t.Errorf("%v, %v", found, err)
	}
}

// TestLooks tells a JWT from another token.
func TestLooks(t *testing.T) {
	s := newSigner(t, "one")
	for raw, want := range map[string]bool{
		s.sign(t, map[string]any{"sub": "ann"}): true, "hft_AAAA": false, "": false, "a.b.c": false, "eyJ.b": false, "42": false,
	} {
		if Looks(raw) != want {
			t.Errorf("%q: %v", raw, !want)
		}
	}
}

func FuzzParse(f *testing.F) {
	s, c := newSigner(f, "one"), newTimer()
	path := filepath.Join(f.TempDir(), "keys.json")
	write(f, path, keySet(f, s.public()))
	v, _ := verifier(f, c, Issuer{URL: login, JWKS: path, Groups: "groups"})
	f.Add(s.sign(f, c.claims(login)))
	f.Add(s.sign(f, with(c.claims(login), "groups", []string{"ops"})))
	f.Add("eyJhbGciOiJub25lIn0.e30.")
	f.Fuzz(func(t *testing.T, raw string) {
		claims, err := v.Verify(t.Context(), raw)
		switch {
		case err != nil && Kind(err) == "":
			t.Errorf("%v has no kind", err)
		case err == nil && (claims.Subject != "ann" || claims.Issuer != login):
			t.Errorf("%+v is accepted", claims)
		}
		u, err := parse(raw)
		if err != nil {
			return
		}
		// As if a trusted issuer had signed it.
		if _, claims, err := check(v.issuers[login].Issuer, u, c.time()); err == nil && checkText(claims.Subject) != nil {
			t.Errorf("%+v is accepted", claims)
		}
	})
}

// FuzzKeys reads what an issuer may answer.
func FuzzKeys(f *testing.F) {
	f.Add(keySet(f, newSigner(f, "one").public()))
	f.Add([]byte(`{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"},{"kty":"oct","k":"AAAA"},null]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		found, err := parseKeys(data)
		if (err == nil) != (len(found) > 0) {
			t.Errorf("%d keys, %v", len(found), err)
		}
		for _, key := range found {
			if !key.IsPublic() {
				t.Errorf("the key %q is kept, and is private", key.KeyID)
			}
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	s, c := newSigner(b, "one"), newTimer()
	path := filepath.Join(b.TempDir(), "keys.json")
	write(b, path, keySet(b, s.public()))
	v, _ := verifier(b, c, Issuer{URL: login, JWKS: path})
	raw := s.sign(b, c.claims(login))
	for b.Loop() {
		if _, err := v.Verify(b.Context(), raw); err != nil {
			b.Fatal(err)
		}
	}
}
