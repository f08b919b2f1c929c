package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast/internal/access"
	"github.com/holdfast-locks/holdfast/internal/access/token"
	"github.com/holdfast-locks/holdfast/internal/audit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const first = `
roles: {r: {rules: [{space: default, names: ["a"], verbs: [lock]}]}}
grants: [{role: r, to: "token:*"}]
`

// policyFile writes a policy, as an editor does: under another name, and renamed.
func policyFile(t testing.TB, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path+".new", []byte(text), 0o600))
	must(t, os.Rename(path+".new", path))
}

func mayLock(g *Guard, name string) bool {
	return g.Policy().Rights(access.Subject{Name: "token:ci"}).May(access.Lock, "default", name)
}

// events returns the entries of the audit log about policies.
func events(t testing.TB, g *Guard) (all []string) {
	t.Helper()
	feed := g.Audit().Follow(1000)
	defer feed.Close()
	entries, err := feed.Next(t.Context())
	must(t, err)
	for _, e := range entries {
		text, err := json.Marshal(e.Result + " " + e.Detail)
		must(t, err)
		all = append(all, string(text))
	}
	return all
}

// TestReload puts a changed file in force, keeps the previous policy while the file has a fault, and says so once.
func TestReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.yaml")
	policyFile(t, path, first)
	g, err := Open(Config{File: path})
	must(t, err)
	before := g.Policy()
	g.Reload()
	if g.Policy() != before || !mayLock(g, "a") || mayLock(g, "b") {
		t.Error("an unchanged file is another policy")
	}
	policyFile(t, path, strings.Replace(first, `"a"`, `"b"`, 1))
	g.Reload()
	if mayLock(g, "a") || !mayLock(g, "b") || g.State().Digest == before.Digest() {
		t.Error("the changed file is not in force")
	}
	for _, bad := range []string{"roles: [", strings.Replace(first, "lock", "luck", 1), first + "tests: [{subject: anonymous, verb: lock, space: default, name: a, allowed: true}]\n"} {
		policyFile(t, path, bad)
		g.Reload()
		g.Reload()
		if !mayLock(g, "b") || g.State().Fault == nil || g.Fault() == nil {
			t.Errorf("with %q the fault is %v", bad, g.State().Fault)
		}
	}
	must(t, os.Remove(path))
	g.Reload()
	if !mayLock(g, "b") || g.State().Fault == nil {
		t.Error("without the file the policy is gone")
	}
	policyFile(t, path, strings.Replace(first, `"a"`, `"b"`, 1)+"# a comment\n")
	digest := g.State().Digest
	g.Reload()
	if g.State().Fault != nil || g.State().Digest != digest {
		t.Errorf("the good file is %+v", g.State())
	}
	if all := events(t, g); len(all) < 6 {
		t.Errorf("the audit log has %v", all)
	}
}

// TestSecondChangeWithinATick: a policy of the same size, written in place with the same time of change, is in force.
func TestSecondChangeWithinATick(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.yaml")
	policyFile(t, path, first)
	g, err := Open(Config{File: path})
	must(t, err)
	before, err := os.Stat(path)
	must(t, err)
	must(t, os.WriteFile(path, []byte(strings.Replace(first, `"a"`, `"b"`, 1)), 0o600))
	must(t, os.Chtimes(path, before.ModTime(), before.ModTime()))
	after, err := os.Stat(path)
	must(t, err)
	if !os.SameFile(before, after) || before.Size() != after.Size() || !before.ModTime().Equal(after.ModTime()) {
		t.Fatalf("the files differ: %v, %v", before, after)
	}
	if g.Reload(); mayLock(g, "a") || !mayLock(g, "b") {
		t.Error("the previous policy is in force")
	}
}

// TestFilesThatOthersWrite: a policy and keys of an issuer that other users can write are refused, unless that is accepted.
func TestFilesThatOthersWrite(t *testing.T) {
	folder := t.TempDir()
	path, keys := filepath.Join(folder, "access.yaml"), filepath.Join(folder, "keys.json")
	policyFile(t, path, first+`issuers: [{issuer: "https://login.example", audience: holdfast, jwks: keys.json}]`)
	policyFile(t, keys, `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`)
	for _, file := range []string{path, keys} {
		for _, mode := range []os.FileMode{0o620, 0o602, 0o664} {
			must(t, os.Chmod(file, mode))
			want := fmt.Sprintf("in %q: other users can change it: its mode is %04o; run chmod go-w %q, or accept it with --insecure-files", file, mode, file)
			if _, err := Open(Config{File: path}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
			if _, err := Open(Config{File: path, Insecure: true}); err != nil {
				t.Errorf("with insecure files: %v", err)
			}
		}
		must(t, os.Chmod(file, 0o644))
		if _, err := Open(Config{File: path}); err != nil {
			t.Error(err)
		}
	}
}

// TestUnopened: a member does not start with a policy that has a fault.
func TestUnopened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.yaml")
	if _, err := Open(Config{File: path}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("it was opened: %v", err)
	}
	policyFile(t, path, "grants: {}")
	if _, err := Open(Config{File: path}); err == nil {
		t.Error("a policy with a fault was opened")
	}
}

// TestWithoutFile has the default policy, or lets everyone do everything.
func TestWithoutFile(t *testing.T) {
	g, err := Open(Config{})
	must(t, err)
	far, near := access.Subject{Name: access.Anonymous}, access.Subject{Name: access.Anonymous, Near: true}
	if g.Policy().Rights(far).Some(access.Break) || !g.Policy().Rights(near).Everything(access.Admin) || g.State().Source != "default" {
		t.Errorf("the default is %+v", g.State())
	}
	if g, err = Open(Config{File: Anyone}); err != nil || !g.Policy().Rights(far).Everything(access.Admin) || g.State().Source != Anyone {
		t.Errorf("none is %+v, %v", g.State(), err)
	}
}

// TestAuthenticate names callers by the first proof that applies.
func TestAuthenticate(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	tokens := token.Open(token.Options{Path: filepath.Join(t.TempDir(), "tokens.yaml")})
	secret, sum := token.New()
	must(t, tokens.Add(token.Record{Name: "ci", Sum: sum, Created: now, Expires: now.Add(time.Hour)}))
	other, _ := token.New()
	g, err := Open(Config{Tokens: tokens, Now: func() time.Time { return now }})
	must(t, err)
	for _, c := range []struct {
		caller        Caller
		subject, kind string
	}{
		{Caller{}, access.Anonymous, ""},
		{Caller{User: "uid:7", Groups: []string{"gid:8"}, Private: true}, "uid:7", ""},
		{Caller{Bearer: secret, User: "uid:7", Private: true}, "token:ci", ""},
		{Caller{Bearer: secret, Certificate: "cert:a", Private: true}, "cert:a", ""},
		{Caller{Bearer: secret}, "", KindPlaintext},
		{Caller{Bearer: other, User: "uid:7", Private: true}, "", KindUnknown},
		{Caller{Bearer: "nonsense", Private: true}, "", KindUnknown},
		{Caller{Bearer: "eyJhbGciOiJub25lIn0.e30.eA", Private: true}, "", "issuer"},
	} {
		s, err := g.Authenticate(t.Context(), c.caller)
		failure, is := errors.AsType[*Failure](err)
		switch {
		case c.kind == "" && (err != nil || s.Name != c.subject || len(s.Also) != len(c.caller.Groups) && c.subject == "uid:7"):
			t.Errorf("%+v is %+v, %v", c.caller, s, err)
		case c.kind != "" && (!is || failure.Kind != c.kind):
			t.Errorf("%+v fails with %v", c.caller, err)
		case is && strings.Contains(err.Error(), strings.TrimPrefix(secret, token.Prefix)):
			t.Errorf("the error has the secret: %v", err)
		}
	}
	if !g.LastUse("ci").Equal(now) {
		t.Errorf("it was used at %v", g.LastUse("ci"))
	}
	now = now.Add(2 * time.Hour)
	_, err = g.Authenticate(t.Context(), Caller{Bearer: secret, Private: true})
	if failure, is := errors.AsType[*Failure](err); !is || failure.Kind != KindExpired {
		t.Errorf("an expired token fails with %v", err)
	}
}

// TestTokenUseIsLogged once an hour.
func TestTokenUseIsLogged(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	tokens := token.Open(token.Options{Path: filepath.Join(t.TempDir(), "tokens.yaml")})
	secret, sum := token.New()
	must(t, tokens.Add(token.Record{Name: "ci", Sum: sum, Created: now}))
	log, err := audit.Open(audit.Config{})
	must(t, err)
	g, err := Open(Config{Tokens: tokens, Audit: log, Now: func() time.Time { return now }})
	must(t, err)
	count := func() (n int) {
		feed := log.Follow(1000)
		defer feed.Close()
		all, err := feed.Next(t.Context())
		must(t, err)
		for _, e := range all {
			if e.Event == audit.TokenUsed {
				n++
			}
		}
		return n
	}
	for i, want := range []int{1, 1, 1, 2} {
		_, err := g.Authenticate(t.Context(), Caller{Bearer: secret, Private: true})
		must(t, err)
		if got := count(); got != want {
			t.Errorf("after use %d the log has %d entries, want %d", i+1, got, want)
		}
		now = now.Add(25 * time.Minute)
	}
}
