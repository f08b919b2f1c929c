package access

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestExample: the example is that of doc.go, and means what the design says.
func TestExample(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.ReplaceAll(strings.ReplaceAll(string(doc), "//\t", ""), "\r", "")
	if !strings.Contains(plain, example) {
		t.Error("the example of the tests is not that of doc.go")
	}
	p := parse(t, example)
	if failures := p.Test(); len(failures) > 0 || p.Assertions() != 4 {
		t.Errorf("%d assertions, of which these fail: %v", p.Assertions(), failures)
	}
	if want := []Issuer{{12, "https://login.example", "holdfast", "", "groups"}}; !slices.Equal(p.Issuers(), want) {
		t.Errorf("issuers %+v, want %+v", p.Issuers(), want)
	}
	ops := []Subject{
		{Name: "uid:0"}, {Name: "jwt:https://login.example#ops"},
		{Name: "jwt:https://login.example#eve", Also: []string{"group:https://login.example#sre"}},
	}
	for _, s := range ops {
		for _, v := range Verbs() {
			if r := p.Rights(s); !r.May(v, "any", "name/of") || !r.Whole(v, "any") || !r.Everything(v) || !r.Some(v) {
				t.Errorf("%v lacks %v", s, v)
			}
		}
	}
	for _, test := range []struct {
		subject     string
		verb        Verb
		space, name string
		want        bool
	}{
		{"cert:job-7", Lock, "default", "deploy/web", true},
		{"cert:job-7", Lock, "other", "deploy/web", false},
		{"cert:job-7", Lock, "default", "orders/1", false},
		{"cert:job-7", Read, "other", "orders/1", true},
		{"cert:jobs", Lock, "default", "deploy/web", false},
		{"anonymous", Read, "default", "deploy/web", true},
		{"anonymous", Break, "default", "deploy/web", false},
		{"jwt:https://login.example#ops2", Break, "default", "deploy/web", false},
		{"gid:0", Break, "default", "deploy/web", false},
	} {
		if got := p.Rights(Subject{Name: test.subject, Near: true}).May(test.verb, test.space, test.name); got != test.want {
			t.Errorf("%s may %v %q in %s: %v, want %v", test.subject, test.verb, test.name, test.space, got, test.want)
		}
	}
}

// TestWithoutFile: the two policies without a file, for each verb, near and far.
func TestWithoutFile(t *testing.T) {
	for _, test := range []struct {
		policy *Policy
		digest string
		far    []Verb
	}{{Default(), "default", []Verb{Lock, Read}}, {Open(), "none", Verbs()}} {
		if test.policy.Digest() != test.digest || test.policy.Test() != nil || test.policy.Applied(Subject{Name: Anonymous}) != nil {
			t.Errorf("digest %q, want %q, and no tests or grants", test.policy.Digest(), test.digest)
		}
		for _, v := range Verbs() {
			for _, near := range []bool{true, false} {
				s := Subject{Name: "cert:a", Near: near}
				r, want := test.policy.Rights(s), near || slices.Contains(test.far, v)
				answers := []bool{
					r.May(v, "s", "n"), r.Prefix(v, "s", ""), r.Whole(v, "s"), r.SomeIn(v, "s"), r.Everything(v), r.Some(v),
					test.policy.Explain(s, v, "s", "n").Allowed, test.policy.ExplainSome(s, v, "").Allowed,
				}
				if slices.Contains(answers, !want) {
					t.Errorf("%s: %v, near %v: %v, want %v", test.digest, v, near, answers, want)
				}
				if r.May(v, "s/t", "n") || r.May(v, "s", "") {
					t.Errorf("%s: a bad space or no name was granted", test.digest)
				}
			}
		}
		if q := test.policy.Quota(Subject{Name: "cert:a"}); q != (Quota{}) {
			t.Errorf("%s: quota %+v", test.digest, q)
		}
	}
}

// TestNothing: what has no rights.
func TestNothing(t *testing.T) {
	p := parse(t, "roles: {a: {rules: [{space: s, names: n, verbs: lock}]}}\ngrants: [{role: a, to: \"cert:a\"}]")
	var none *Rights
	for i, r := range []*Rights{none, {}, p.Rights(Subject{}), p.Rights(Subject{Name: "cert:b", Near: true})} {
		for _, v := range append(Verbs(), 0, 6, 255) {
			if r.May(v, "s", "n") || r.Prefix(v, "s", "") || r.Whole(v, "s") || r.SomeIn(v, "s") || r.Everything(v) || r.Some(v) {
				t.Errorf("%d: %v was granted", i, v)
			}
		}
	}
	for _, v := range []Verb{0, 6, 8, 255} {
		if r := p.Rights(Subject{Name: "cert:a"}); r.May(v, "s", "n") || Open().Rights(Subject{}).May(v, "s", "n") {
			t.Errorf("%v was granted", v)
		}
	}
}

// TestQuota: the first entry that matches counts, as a whole.
func TestQuota(t *testing.T) {
	const roles = "roles: {a: {rules: [{space: s, names: n, verbs: lock}]}}\ngrants: [{role: a, to: [\"*\"]}]\n"
	p := parse(t, roles+`quotas:
  - {to: ["token:ci", "group:https://x#big"], locks: 500}
  - {to: "token:*", sessions: 10, locks: 50, waiters: 5, requests_per_second: 100}
  - {to: "*", sessions: 3}
`)
	for _, test := range []struct {
		subject Subject
		want    Quota
	}{
		{Subject{Name: "token:ci"}, Quota{Locks: 500}},
		{Subject{Name: "token:cd"}, Quota{10, 50, 5, 100}},
		{Subject{Name: "token:cd", Also: []string{"group:https://x#small", "group:https://x#big"}}, Quota{Locks: 500}},
		{Subject{Name: "cert:a"}, Quota{Sessions: 3}},
		{Subject{Name: Anonymous}, Quota{Sessions: 3}},
	} {
		if got := p.Quota(test.subject); got != test.want {
			t.Errorf("%v has %+v, want %+v", test.subject, got, test.want)
		}
	}
	if got := parse(t, roles).Quota(Subject{Name: "cert:a"}); got != (Quota{}) {
		t.Errorf("without quotas it is %+v", got)
	}
}

// same are ways to write one policy.
var same = []string{
	`roles: {a: {rules: [{space: s, names: [x, y/**], verbs: [lock, read]}]}, b: {rules: [{space: "*", names: "**", verbs: admin}]}}
grants: [{role: a, to: ["cert:a", "token:*"]}, {role: b, to: "uid:0"}]
quotas: [{to: ["cert:a", "cert:b"], locks: 1, sessions: 2}, {to: "*", locks: 3}]
issuers: [{issuer: "https://a", audience: x}, {issuer: "https://b", audience: y}]
`,
	`# a remark
issuers:
- audience: y
  issuer: https://b
- {issuer: https://a, audience: x}
quotas:
- sessions: 2
  locks: 1
  to: ["cert:b", "cert:a"]
- {locks: 3, to: ["**"]}
grants:
- {to: [uid:0], role: b}
- {to: ["token:*"], role: a}
- {to: ["cert:a", "cert:a"], role: a}
roles:
  b:
    rules:
    - {verbs: [admin], names: ["**/**"], space: "**"}
  a:
    rules:
    - {space: s, names: [y/**], verbs: [read]}
    - {space: s, names: [y/**, x], verbs: [lock]}
    - {space: s, names: [x, x], verbs: [read]}
tests:
- {subject: "uid:0", verb: admin, space: "*", name: "**", allowed: true}
`,
}

// TestDigest: the digest follows the meaning.
func TestDigest(t *testing.T) {
	digest := parse(t, same[0]).Digest()
	if got := parse(t, same[1]).Digest(); got != digest || len(digest) != 2*digestBytes {
		t.Errorf("the digests %s and %s of one meaning differ", digest, got)
	}
	seen := map[string]string{digest: "the original"}
	for _, change := range [][2]string{
		{"names: [x,", "names: [z,"}, {"verbs: [lock, read]", "verbs: [lock]"}, {"space: s", "space: t"}, {"cert:a\", \"token", "cert:b\", \"token"},
		{"role: b, to: \"uid:0\"", "role: b, to: \"uid:1\""}, {"locks: 1", "locks: 4"}, {"sessions: 2", "waiters: 2"},
		{"{to: [\"cert:a\", \"cert:b\"], locks: 1, sessions: 2}, {to: \"*\", locks: 3}", "{to: \"*\", locks: 3}, {to: [\"cert:a\", \"cert:b\"], locks: 1, sessions: 2}"},
		{"audience: x", "audience: z"}, {"audience: x", "audience: x, groups: g"}, {"audience: x", "audience: x, jwks: /k.json"},
		{"role: b, to", "role: a, to"},
	} {
		text := strings.Replace(same[0], change[0], change[1], 1)
		if text == same[0] {
			t.Fatalf("%q is not in the file", change[0])
		}
		got := parse(t, text).Digest()
		if before, taken := seen[got]; taken {
			t.Errorf("the digest with %q is that of %q", change[1], before)
		}
		seen[got] = change[1]
	}
}

// TestIssuers: keys come over TLS, from this machine, or from a file.
func TestIssuers(t *testing.T) {
	for _, test := range []struct {
		url, jwks string
		want      bool
	}{
		{"https://login.example", "", true},
		{"https://login.example/realms/a", "https://login.example/keys", true},
		{"http://127.0.0.1:8080", "", true},
		{"http://[::1]:8080", "", true},
		{"http://localhost", "http://localhost/keys", true},
		{"kubernetes/serviceaccount", "/var/keys.json", true},
		{"http://login.example", "keys.json", true},
		{"http://login.example", "", false},
		{"http://0.0.0.0", "", false},
		{"http://127.0.0.1.example", "", false},
		{"https://user:secret@login.example", "", false},
		{"ftp://login.example", "", false},
		{"login.example", "", false},
		{"https://", "", false},
		{"https://login.example", "http://login.example/keys", false},
		{"https://login.example", "ftp://login.example/keys", false},
		{"https://login.example#a", "", false},
		{"https://*.example", "", false},
	} {
		text := "roles: {a: {rules: [{space: s, names: n, verbs: lock}]}}\ngrants: [{role: a, to: \"*\"}]\nissuers: [{audience: a, issuer: " + quote(test.url)
		if test.jwks != "" {
			text += ", jwks: " + quote(test.jwks)
		}
		if _, err := Parse([]byte(text + "}]")); (err == nil) != test.want {
			t.Errorf("issuer %q with keys of %q: %v, want it to be taken: %v", test.url, test.jwks, err, test.want)
		}
	}
}

// TestFaults: each fault is found, with its line, its key, and a fix.
func TestFaults(t *testing.T) {
	const roles = "roles: {a: {rules: [{space: s, names: n, verbs: lock}]}}\n"
	const grants = "grants: [{role: a, to: \"*\"}]\n"
	for _, test := range []struct {
		file string
		want string
	}{
		{"", "the file is empty, so no subject could do anything; write roles and grants, or start the member without --access"},
		{"# nothing\n", "the file is empty"},
		{"~", "the file is empty"},
		{"- a", "line 1: the value is not a mapping; write keys and values"},
		{"roles: {}\nroles: {}\n" + grants, "line 2: roles: the key is in line 1 too; write each key once"},
		{"roles: [\n", "line 1: the file is not YAML: did not find expected node content; correct that line"},
		{"a: b\nroles: {a: {rules: [{space: *, names: n}]}}", `line 2: the file is not YAML: did not find expected alphabetic or numeric character; put a value that begins with "*" in quotes`},
		{roles, "line 1: the key grants is missing; write grants: …"},
		{grants, "line 1: the key roles is missing"},
		{roles + "grants: []", "grants: there is no grant, so no subject could do anything; grant a role"},
		{roles + grants + "---\na: b\n", "line 3: a second document begins here; write one YAML document"},
		{roles + grants + "role: {}\n", "line 3: role: there is no such key; the keys here are roles, grants, quotas, issuers, tests"},
		{"roles: {a b: {rules: []}}\n" + grants, `line 1: roles.a b: "a b" is no name of a role; give it 1 to 64 letters`},
		{"roles: {a: }\n" + grants, "line 1: roles.a: the value is not a mapping"},
		{"roles: {a: {rules: x}}\n" + grants, `line 1: roles.a.rules: "x" is not a list; write entries that begin with a dash`},
		{"roles:\n  a:\n    rules:\n    - {space: s, verbs: lock}\n" + grants, "line 4: roles.a.rules[0]: the key names is missing"},
		{"roles: {a: {rules: [{space: s, names: [], verbs: lock}]}}\n" + grants, "roles.a.rules[0].names: the list is empty; give at least one entry"},
		{"roles: {a: {rules: [{space: s, names: [n, ~], verbs: lock}]}}\n" + grants, "roles.a.rules[0].names[1]: there is no value; write one"},
		{"roles: {a: {rules: [{space: s, names: [n, [m]], verbs: lock}]}}\n" + grants, "roles.a.rules[0].names[1]: the value is not a text; write one text"},
		{"roles: {a: {rules: [{space: s, names: n, verbs: [lock, lok]}]}}\n" + grants, `roles.a.rules[0].verbs[1]: there is no verb "lok"; the verbs are lock, read, break, operate, admin`},
		{"roles: {a: {rules: [{space: s, names: n, verbs: [read, lock, read]}]}}\n" + grants, `roles.a.rules[0].verbs[2]: "read" is there twice; write each verb once`},
		{"roles: {a: {rules: [{space: s/t, names: n, verbs: lock}]}}\n" + grants, `roles.a.rules[0].space: "s/t" matches no space`},
		{"roles: {a: {rules: [{space: s, names: a**, verbs: lock}]}}\n" + grants, `roles.a.rules[0].names: "a**": "**" stands for whole parts`},
		{roles + "grants:\n- {role: b, to: \"*\"}", `line 3: grants[0].role: "b" is not a role of this file; define it under roles, or correct it`},
		{roles + "grants:\n- {role: a, to: ci}", `line 3: grants[0].to: "ci" is no subject; write one of cert:NAME`},
		{roles + "grants:\n- {role: a, too: ci}", `line 3: grants[0].too: there is no such key; the keys here are role, to`},
		{roles + grants + "quotas:\n- {to: \"*\"}", "line 4: quotas[0]: the entry limits nothing; give at least one of sessions"},
		{roles + grants + "quotas:\n- {to: \"*\", locks: 0}", `line 4: quotas[0].locks: "0" is no number from 1 to 2147483647; write such a number`},
		{roles + grants + "quotas:\n- {to: \"*\", locks: 1e3}", `quotas[0].locks: "1e3" is no number`},
		{roles + grants + "quotas:\n- {to: \"*\", locks: -1}", `quotas[0].locks: "-1" is no number`},
		{roles + grants + "issuers:\n- {issuer: \"https://x\"}", "line 4: issuers[0]: the key audience is missing"},
		{roles + grants + "issuers:\n- {issuer: \"http://x\", audience: a}", `line 4: issuers[0].issuer: "http://x" is no URL at which its keys can be found safely; write an https URL; http is for loopback, or give its keys with jwks`},
		{roles + grants + "issuers:\n- {issuer: \"https://x#y\", audience: a}", `issuers[0].issuer: "https://x#y" has "#", "*" or a space`},
		{roles + grants + "issuers:\n- {issuer: x, audience: a, jwks: \"http://x/k\"}", `issuers[0].jwks: "http://x/k" is no safe source of keys`},
		{roles + grants + "issuers:\n- {issuer: x, audience: a, jwks: k}\n- {issuer: x, audience: b, jwks: k}", `line 5: issuers[1].issuer: "x" is in line 4 too; write each issuer once`},
		{roles + grants + "tests:\n- {subject: ci, verb: lock, space: s, name: n, allowed: yes}", `line 4: tests[0].subject: "ci" is no subject`},
		{roles + grants + "tests:\n- {subject: \"uid:0\", verb: lock, space: s, name: n, allowed: yes}", `tests[0].allowed: "yes" is neither true nor false; write allowed: true`},
		{roles + grants + "tests:\n- {subject: \"uid:0\", verb: lock, space: s, name: n}", "tests[0]: the key allowed is missing"},
		{roles + grants + "tests:\n- {subject: \"uid:0\", verb: lock, space: \"*\", name: n, allowed: true}", `tests[0]: the space "*" goes with the name "**" alone`},
		{roles + grants + "tests:\n- {subject: \"uid:0\", groups: [\"gid:x\"], verb: lock, space: s, name: n, allowed: true}", `tests[0].groups[0]: "gid:x": "x" is no number`},
		{roles + grants + "tests:\n- {subject: \"gid:0\", verb: lock, space: s, name: n, allowed: true}", `tests[0].subject: "gid:0" is a group; name a subject`},
	} {
		p, err := Parse([]byte(test.file))
		var refused *Error
		if !errors.As(err, &refused) || p != nil {
			t.Errorf("%q: policy %v and error %v, want an *Error", test.file, p, err)
			continue
		}
		if !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q:\n%v\nwant %s", test.file, err, test.want)
		}
	}
}

// TestAllFaults: one answer has all faults, up to a bound, with the path.
func TestAllFaults(t *testing.T) {
	_, err := Parse([]byte("roles: {a: {rules: [{space: s, names: a**, verbs: lok}]}}\ngrants: [{role: b, to: ci}]\nx: y\n"))
	var refused *Error
	if !errors.As(err, &refused) || len(refused.Faults) != 5 {
		t.Fatalf("faults: %v, want 5", err)
	}
	refused.Path = "access.yaml"
	for line := range strings.Lines(refused.Error()) {
		if !strings.HasPrefix(line, "access.yaml line ") {
			t.Errorf("a fault without its file: %s", line)
		}
	}
	_, err = Parse([]byte("roles: {a: {rules: [{space: s, names: n, verbs: lock}]}}\ngrants: [{role: a, to: [" + strings.Repeat("x, ", MaxFaults+7) + "y]}]"))
	if !errors.As(err, &refused) || len(refused.Faults) != MaxFaults || !strings.HasSuffix(err.Error(), "\nthere are 8 more faults") {
		t.Errorf("%v; want %d faults, and 8 more", err, MaxFaults)
	}
}

// TestBounds: a file at each bound is taken, and one past it is refused.
func TestBounds(t *testing.T) {
	list := func(n int, text string) string { return "[" + strings.Repeat(text+",", n) + "]" }
	file := func(names, to string, more string) string {
		return "roles: {a: {rules: [{space: s, names: " + names + ", verbs: lock}]}}\ngrants: [{role: a, to: " + to + "}]\n" + more
	}
	issuers := func(n int) (text string) {
		for i := range n {
			text += fmt.Sprintf("- {issuer: i%d, audience: a, jwks: k}\n", i)
		}
		return "issuers:\n" + text
	}
	assertion := `{subject: "uid:0", verb: lock, space: s, name: n, allowed: true}`
	for _, test := range []struct {
		what string
		file func(past int) string
		want string
	}{
		{"names", func(n int) string { return file(list(MaxEntries+n, "n"), `"*"`, "") }, "the file has more than 100000 patterns of names"},
		{"grants", func(n int) string { return file("n", list(MaxEntries+n, `"*"`), "") }, "more than 100000 subjects in grants"},
		{"quotas", func(n int) string {
			return file("n", `"*"`, "quotas: [{locks: 1, to: "+list(MaxEntries+n, `"*"`)+"}]")
		}, "more than 100000 subjects in quotas"},
		{"tests", func(n int) string {
			return file("n", `"*"`, "x: &x "+assertion+"\ntests: "+list(MaxEntries+n, "*x ")) // x is a fault of its own
		}, "more than 100000 assertions"},
		{"issuers", func(n int) string { return file("n", `"*"`, issuers(MaxIssuers+n)) }, "more than 64 issuers"},
		{"bytes", func(n int) string {
			text := file("n", `"*"`, "#")
			return text + strings.Repeat("-", MaxBytes-len(text)+n)
		}, "the file has 4194305 bytes; at most 4194304 are allowed"},
	} {
		_, err := Parse([]byte(test.file(0)))
		if err != nil && strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: a file at the bound is refused: %v", test.what, err)
		}
		if _, err = Parse([]byte(test.file(1))); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: a file past the bound: %v, want %s", test.what, err, test.want)
		}
	}
}

// TestAliases: aliases are read as what they stand for, and cannot make a short file a large one.
func TestAliases(t *testing.T) {
	p := parse(t, "roles: {a: {rules: [&r {space: s, names: &n [x, y], verbs: lock}, {space: t, names: *n, verbs: read}]}, b: {rules: [*r ]}}\n"+
		"grants: [{role: a, to: &s [\"cert:a\"]}, {role: b, to: *s }]")
	if r := p.Rights(Subject{Name: "cert:a"}); !r.May(Lock, "s", "y") || !r.May(Read, "t", "x") || r.May(Lock, "t", "x") {
		t.Error("an alias does not stand for its value")
	}
	for _, file := range []string{
		"roles: &r {a: *r }\ngrants: &g [*g ]",
		"roles: {a: {rules: &r [*r , {space: s, names: *r , verbs: *r }]}}\ngrants: []",
		"&a ? *a : b",
		"<<: {roles: {}}\ngrants: []",
	} {
		if _, err := Parse([]byte(file)); err == nil {
			t.Errorf("%q was taken", file)
		}
	}
	// 1,000 verbs for each of 10,000 rules for each of 10 roles: 100 million faults, if all were visited.
	file := "roles:\n  a0: &a {rules: &r [" + strings.Repeat("{space: s, names: n, verbs: *v },", 9999) +
		"{space: s, names: n, verbs: &v [" + strings.Repeat("lock,", 1000) + "]}]}\n"
	file = "x: &v [" + strings.Repeat("lock,", 1000) + "]\n" + file
	for i := 1; i < 10; i++ {
		file += fmt.Sprintf("  a%d: *a\n", i)
	}
	_, err := Parse([]byte(file + "grants: [{role: a0, to: \"*\"}]"))
	if err == nil {
		t.Fatal("100 million entries were taken")
	}
	r := &reader{policy: &Policy{}, roles: map[string]int{}, counts: map[string]int{}}
	r.top(r.document([]byte(file + "grants: [{role: a0, to: \"*\"}]")))
	if r.visits < maxVisits || r.visits > maxVisits+1_000_000 {
		t.Errorf("%d entries were visited; want the bound of %d to stop it", r.visits, maxVisits)
	}
}

// TestWarnings: what a file has by mistake is named, and the example has none of it.
func TestWarnings(t *testing.T) {
	if all := parse(t, example).Warnings(); all != nil || Default().Warnings() != nil {
		t.Errorf("the example has the warnings %v", all)
	}
	var got []string
	for _, f := range parse(t, `roles:
  one: {rules: [{space: s, names: n, verbs: [lock, break]}]}
  two: {rules: [{space: s, names: n, verbs: [admin]}]}
grants: [{role: one, to: "*"}]
quotas:
- {to: "cert:a", locks: 1}
- {to: ["cert:b", "*"], locks: 1}
- {to: "cert:c", locks: 1}
`).Warnings() {
		got = append(got, f.String())
	}
	want := []string{
		"line 3: roles.two: no grant gives this role to a subject; grant it, or remove it",
		"no grant gives the verb operate, so no subject can use it; give it to operators",
		"no grant gives the verb admin, so no subject can use it; give it to operators",
		`line 8: quotas[2]: it is never used, because the entry in line 7 is for "*" and comes first; write it before that entry`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
