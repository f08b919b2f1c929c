package jwt

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// TestRotation: a token that names a new key makes its issuer's keys be fetched.
func TestRotation(t *testing.T) {
	one, two, c := newSigner(t, "one"), newSigner(t, "two"), newTimer()
	for _, discovery := range []bool{false, true} {
		p := newProvider(t, nil, one.public())
		of := Issuer{URL: p.URL}
		if !discovery {
			of.JWKS = p.URL + "/keys"
		}
		v, _ := verifier(t, c, of)
		verify := func(s signer) error {
			_, err := v.Verify(t.Context(), s.sign(t, c.claims(p.URL)))
			return err
		}
		if err := verify(one); err != nil {
			t.Fatal(err)
		}
		if err := verify(one); err != nil || p.asked.Load() != 1 {
			t.Fatalf("%v; %d requests", err, p.asked.Load())
		}
		p.publish(keySet(t, two.public()))
		if err := verify(two); Kind(err) != KindSignature || p.asked.Load() != 1 {
			t.Errorf("a second fetch within %v: %v; %d requests", fetchEvery, err, p.asked.Load())
		}
		c.pass(fetchEvery)
		if err := verify(two); err != nil || p.asked.Load() != 2 {
			t.Errorf("%v; %d requests", err, p.asked.Load())
		}
		if err := verify(one); Kind(err) != KindSignature {
			t.Errorf("the issuer has withdrawn this key: %v", err)
		}
	}
}

// TestTokensWithoutKeyID are tried with each key of their algorithm, and, where none has signed one, with the keys of at
// most one fetch in the interval.
func TestTokensWithoutKeyID(t *testing.T) {
	one, two, three, c := newSigner(t, "one"), newSigner(t, "two"), newSigner(t, "three"), newTimer()
	p := newProvider(t, nil, one.public(), two.public())
	v, _ := verifier(t, c, Issuer{URL: p.URL, JWKS: p.URL + "/keys"})
	nameless := func(s signer) error {
		_, err := v.Verify(t.Context(), signed(t, jose.ES256, s.key, c.claims(p.URL)))
		return err
	}
	asked := func(want int32) {
		t.Helper()
		if got := p.asked.Load(); got != want {
			t.Errorf("%d requests of keys, want %d", got, want)
		}
	}
	for _, s := range []signer{one, two, one} {
		if err := nameless(s); err != nil {
			t.Errorf("signed by %s: %v", s.id, err)
		}
	}
	asked(1)
	p.publish(keySet(t, one.public(), three.public()))
	for range 3 {
		if err := nameless(three); Kind(err) != KindSignature || !strings.Contains(err.Error(), "it names no key (kid), and none of the issuer's has signed it with ES256") {
			t.Errorf("within %v: %v", fetchEvery, err)
		}
	}
	asked(1)
	c.pass(fetchEvery)
	if err := nameless(three); err != nil {
		t.Errorf("signed by a new key: %v", err)
	}
	asked(2)
	if err := nameless(two); Kind(err) != KindSignature {
		t.Errorf("signed by a withdrawn key: %v", err)
	}
	c.pass(fetchEvery)
	for range 3 {
		if err := nameless(newSigner(t, "stranger")); Kind(err) != KindSignature {
			t.Errorf("signed by a stranger: %v", err)
		}
	}
	asked(3)
	// A key for another algorithm is not tried.
	other := two.public()
	other.Algorithm = "ES384"
	p.publish(keySet(t, other))
	c.pass(fetchEvery)
	if err := nameless(two); Kind(err) != KindSignature {
		t.Errorf("signed by a key for another algorithm: %v", err)
	}
	asked(4)
	// While the issuer is down, a token that no known key can have signed is refused for that reason.
	p.down.Store(true)
	c.pass(fetchEvery)
	if err := nameless(one); Kind(err) != KindUnreachable {
		t.Errorf("without the issuer: %v", err)
	}
}

// TestTokensWithoutKeyIDInAFile: all keys of the file are tried.
func TestTokensWithoutKeyIDInAFile(t *testing.T) {
	one, two, c := newSigner(t, "one"), newSigner(t, "two"), newTimer()
	path := filepath.Join(t.TempDir(), "keys.json")
	write(t, path, keySet(t, one.public(), two.public()))
	v, _ := verifier(t, c, Issuer{URL: login, JWKS: path})
	for s, want := range map[signer]string{one: "", two: "", newSigner(t, "three"): KindSignature} {
		if _, err := v.Verify(t.Context(), signed(t, jose.ES256, s.key, c.claims(login))); Kind(err) != want {
			t.Errorf("signed by %s: %v", s.id, err)
		}
	}
}

// TestFloodOfUnknownKeys: many tokens with unknown keys wait for one fetch, or for none.
func TestFloodOfUnknownKeys(t *testing.T) {
	const flood = 50
	c, silent := newTimer(), make(chan struct{})
	p := newProvider(t, silent, newSigner(t, "one").public())
	v, _ := verifier(t, c, Issuer{URL: p.URL})
	raw := newSigner(t, "unknown").sign(t, c.claims(p.URL))
	var all sync.WaitGroup
	errs := make(chan error, flood)
	for range flood {
		all.Go(func() {
			_, err := v.Verify(t.Context(), raw)
			errs <- err
		})
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the caller has gone"))
	if _, err := v.Verify(ctx, raw); Kind(err) != KindUnreachable || !strings.Contains(err.Error(), "the caller has gone") {
		t.Errorf("a caller that has gone gets %v", err)
	}
	close(silent)
	all.Wait()
	for range flood {
		if err := <-errs; Kind(err) != KindSignature {
			t.Error(err)
		}
	}
	for range flood {
		if _, err := v.Verify(t.Context(), raw); Kind(err) != KindSignature {
			t.Error(err)
		}
	}
	if asked := p.asked.Load(); asked != 1 {
		t.Errorf("%d requests, want 1", asked)
	}
}

// TestIssuerIsDown: known keys stay in use, and an unknown one is refused with the reason.
func TestIssuerIsDown(t *testing.T) {
	one, c := newSigner(t, "one"), newTimer()
	p := newProvider(t, nil, one.public())
	v, log := verifier(t, c, Issuer{URL: p.URL})
	p.down.Store(true)
	raw := one.sign(t, c.claims(p.URL))
	if _, err := v.Verify(t.Context(), raw); Kind(err) != KindUnreachable || !strings.Contains(err.Error(), "502 Bad Gateway") {
		t.Errorf("%v, want 502", err)
	}
	if faults := v.Faults(); len(faults) != 1 || !strings.Contains(faults[0].Error(), "fetch the keys of issuer \""+p.URL) {
		t.Errorf("its faults are %v", faults)
	}
	p.down.Store(false)
	c.pass(fetchEvery)
	if _, err := v.Verify(t.Context(), raw); err != nil || v.Faults() != nil {
		t.Fatalf("%v; %v", err, v.Faults())
	}
	p.down.Store(true)
	c.pass(refreshAfter)
	raw = one.sign(t, c.claims(p.URL))
	if _, err := v.Verify(t.Context(), raw); err != nil {
		t.Errorf("the known key is not in use: %v", err)
	}
	settle(v, p.URL)
	if faults := v.Faults(); len(faults) != 1 {
		t.Errorf("its faults are %v", faults)
	}
	if _, err := v.Verify(t.Context(), raw); err != nil {
		t.Errorf("the known key is not in use: %v", err)
	}
	if n := strings.Count(log.String(), "the keys of an issuer cannot be fetched"); n != 2 {
		t.Errorf("the log has it %d times, want 2:\n%s", n, log)
	}
}

// settle waits for the fetch that is under way, if any.
func settle(v *Verifier, issuer string) {
	r := v.issuers[issuer].keys.(*remoteKeys)
	r.mu.Lock()
	done := r.fetch
	r.mu.Unlock()
	if done != nil {
		<-done
	}
}

// TestIssuerIsSilent: a fetch ends at its limit.
func TestIssuerIsSilent(t *testing.T) {
	one, c, silent := newSigner(t, "one"), newTimer(), make(chan struct{})
	p := newProvider(t, silent, one.public())
	defer close(silent)
	v, _ := verifier(t, c, Issuer{URL: p.URL})
	r := v.issuers[p.URL].keys.(*remoteKeys)
	if r.limit != fetchLimit {
		t.Errorf("the limit is %v, want %v", r.limit, fetchLimit)
	}
	r.limit = 100 * time.Millisecond
	_, err := v.Verify(t.Context(), one.sign(t, c.claims(p.URL)))
	if Kind(err) != KindUnreachable || !errors.Is(err, context.DeadlineExceeded) || p.asked.Load() != 1 {
		t.Errorf("%v; %d requests", err, p.asked.Load())
	}
}

// TestRefresh: a key that was withdrawn is no longer accepted after the next fetch.
func TestRefresh(t *testing.T) {
	one, c := newSigner(t, "one"), newTimer()
	p := newProvider(t, nil, one.public())
	v, _ := verifier(t, c, Issuer{URL: p.URL, JWKS: p.URL + "/keys"})
	raw := one.sign(t, c.claims(p.URL))
	if _, err := v.Verify(t.Context(), raw); err != nil {
		t.Fatal(err)
	}
	p.publish(keySet(t, newSigner(t, "two").public()))
	c.pass(refreshAfter)
	if _, err := v.Verify(t.Context(), raw); err != nil {
		t.Logf("the fetch was faster: %v", err)
	}
	settle(v, p.URL)
	if _, err := v.Verify(t.Context(), raw); Kind(err) != KindSignature || p.asked.Load() != 2 {
		t.Errorf("%v; %d requests", err, p.asked.Load())
	}
}

// TestBadAnswers of an issuer.
func TestBadAnswers(t *testing.T) {
	one, c := newSigner(t, "one"), newTimer()
	for _, tt := range []struct{ jwks, answer, want string }{
		{"", "no JSON", "it is not a JSON Web Key Set"},
		{"", `{"keys":[]}`, "it has no key that verifies signatures"},
		{"", `{"keys":[` + strings.Repeat("{},", mostKeys) + "{}]}", "it has 101 keys; at most 100"},
		{"", strings.Repeat(" ", mostKeyBytes+1), "it has more than 1048576 bytes"},
		{"http://192.0.2.1/keys", "", `the jwks_uri "http://192.0.2.1/keys": it is not encrypted`},
	} {
		p := newProvider(t, nil)
		p.publish([]byte(tt.answer))
		p.jwksURI = tt.jwks
		v, _ := verifier(t, c, Issuer{URL: p.URL})
		_, err := v.Verify(t.Context(), one.sign(t, c.claims(p.URL)))
		if Kind(err) != KindUnreachable || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}

// TestDiscoveryIsForTheIssuer: the document at an address that is another issuer's is not believed.
func TestDiscoveryIsForTheIssuer(t *testing.T) {
	one, c := newSigner(t, "one"), newTimer()
	p := newProvider(t, nil, one.public())
	other := strings.Replace(p.URL, "127.0.0.1", "localhost", 1)
	v, _ := verifier(t, c, Issuer{URL: other})
	_, err := v.Verify(t.Context(), one.sign(t, c.claims(other)))
	if Kind(err) != KindUnreachable || !strings.Contains(err.Error(), "is for issuer \""+p.URL) || p.asked.Load() != 0 {
		t.Errorf("%v; %d requests", err, p.asked.Load())
	}
}

// TestRecentTokens: a token that was verified before is refused when its time is over, and when its key is withdrawn.
func TestRecentTokens(t *testing.T) {
	one, c := newSigner(t, "one"), newTimer()
	path := filepath.Join(t.TempDir(), "keys.json")
	write(t, path, keySet(t, one.public()))
	if err := os.Chtimes(path, time.Time{}, c.time().Add(-time.Hour)); err != nil { // so that it is read once
		t.Fatal(err)
	}
	v, _ := verifier(t, c, Issuer{URL: login, JWKS: path, Groups: "groups"})
	raw := one.sign(t, with(c.claims(login), "groups", []string{"ops"}))
	for range 3 {
		got, err := v.Verify(t.Context(), raw)
		if err != nil || len(got.Groups) != 1 || got.Groups[0] != "ops" || got.Subject != "ann" {
			t.Fatalf("%+v, %v", got, err)
		}
		got.Groups[0] = "root" // the caller's own
	}
	if known := v.recent.find(sha256.Sum256([]byte(raw))); known == nil {
		t.Fatal("the token is not remembered")
	}
	c.pass(time.Hour + 2*skew)
	if got, err := v.Verify(t.Context(), raw); Kind(err) != KindExpired || got.Subject != "" {
		t.Errorf("%+v, %v", got, err)
	}
	c.pass(-time.Hour)
	if _, err := v.Verify(t.Context(), raw); err != nil {
		t.Error(err)
	}
	write(t, path, keySet(t, newSigner(t, "one").public())) // another key of the same id
	c.pass(time.Hour - 3*skew)
	if got, err := v.Verify(t.Context(), raw); Kind(err) != KindSignature || got.Subject != "" {
		t.Errorf("%+v, %v", got, err)
	}
	for i := range 3 * mostRecent {
		v.recent.add(sha256.Sum256([]byte{byte(i), byte(i >> 8)}), &verified{})
		if n := len(v.recent.all); n > mostRecent {
			t.Fatalf("%d tokens are remembered", n)
		}
	}
}

// TestFileIsFollowed: a changed file takes effect, a bad one does not.
func TestFileIsFollowed(t *testing.T) {
	one, two, c := newSigner(t, "one"), newSigner(t, "two"), newTimer()
	path := filepath.Join(t.TempDir(), "keys.json")
	write(t, path, keySet(t, one.public()))
	v, log := verifier(t, c, Issuer{URL: login, JWKS: path})
	verify := func(s signer) error {
		_, err := v.Verify(t.Context(), s.sign(t, c.claims(login)))
		return err
	}
	if err := verify(one); err != nil {
		t.Fatal(err)
	}
	write(t, path, []byte("{"))
	for range 3 {
		c.pass(time.Second)
		if err := verify(one); err != nil {
			t.Errorf("the previous key is not in use: %v", err)
		}
	}
	if faults := v.Faults(); len(faults) != 1 || !strings.Contains(faults[0].Error(), path) {
		t.Errorf("its faults are %v", faults)
	}
	if n := strings.Count(log.String(), "previous ones stay in use"); n != 1 {
		t.Errorf("the log has it %d times:\n%s", n, log)
	}
	write(t, path, keySet(t, two.public()))
	c.pass(time.Second)
	if err := verify(two); err != nil || v.Faults() != nil {
		t.Errorf("%v; %v", err, v.Faults())
	}
	if err := verify(one); Kind(err) != KindSignature {
		t.Errorf("the key is gone from the file: %v", err)
	}
}
