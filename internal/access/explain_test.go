package access

import (
	"fmt"
	"strings"
	"testing"
)

// TestSentences: what a decision says, for each kind of reason.
func TestSentences(t *testing.T) {
	p := parse(t, example)
	const file = "roles:\n  one: {rules: [{space: s, names: [n, \"m/**\"], verbs: lock}]}\n  two: {rules: [{space: \"s*\", names: \"**\", verbs: [operate]}]}\n" +
		"grants:\n- {role: one, to: [\"cert:a\", \"cert:*\"]}\n"
	two := parse(t, file)
	ci, remote := Subject{Name: "token:ci"}, Subject{Name: "cert:a"}
	for _, test := range []struct {
		got  Decision
		want string
	}{
		{two.Explain(Subject{Name: "cert:b"}, Lock, "s", "m/x"),
			`cert:b has the verb lock for "m/x" in space s: role one (line 2), granted to "cert:*" in line 5, has a rule for the names "m/**" in space "s" (line 2)`},
		{p.Explain(ci, Break, "default", "deploy/web"),
			`token:ci lacks the verb break for "deploy/web" in space default: it has roles deployers, readers, of which none gives that; it needs role sre`},
		{p.ExplainSome(Subject{Name: "token:x"}, Lock, ""),
			`token:x lacks the verb lock for any name: it has role readers, which does not give that; it needs one of the roles deployers, sre`},
		{two.ExplainSome(Subject{Name: "token:x"}, Lock, "s"), `token:x lacks the verb lock for any name in space s: it has no role; it needs role one`},
		{two.Explain(remote, Operate, "s1", ""), `cert:a lacks the verb operate for the whole of space s1: it has role one, which does not give that; it needs role two`},
		{two.Explain(remote, Admin, "", ""), `cert:a lacks the verb admin for the whole cluster: it has role one, which does not give that, and no role of the access file does`},
		{Default().Explain(remote, Break, "s", "n"),
			`cert:a lacks the verb break for "n" in space s: without an access file break is for members and callers on this machine; grant it in a file, and give that with --access FILE`},
		{Default().Explain(remote, Lock, "s", "n"), `cert:a has the verb lock for "n" in space s: there is no access file`},
		{Open().Explain(remote, Admin, "", ""), `cert:a has the verb admin for the whole cluster: access is not controlled (--access none)`},
		{p.Explain(Subject{Name: "cert:\n\x1b"}, Lock, "s\n", "\u202e"), `"cert:\n\x1b" lacks the verb lock for "\u202e" in space "s\n": it has role readers, which does not give that; it needs role sre`},
	} {
		if got := test.got.String(); got != test.want {
			t.Errorf("%s\nwant %s", got, test.want)
		}
	}
}

// TestManyRoles: a sentence stays short where many roles are missing, and where the subject has many.
func TestManyRoles(t *testing.T) {
	var roles, grants strings.Builder
	for i := range 160 {
		verb := "lock"
		if i%2 == 0 {
			verb = "read"
		}
		fmt.Fprintf(&roles, "  r%d: {rules: [{space: s, names: n, verbs: %s}]}\n", i, verb)
		if i%2 == 0 {
			fmt.Fprintf(&grants, "- {role: r%d, to: \"*\"}\n", i)
		}
	}
	d := parse(t, "roles:\n"+roles.String()+"grants:\n"+grants.String()).Explain(Subject{Name: "cert:a"}, Lock, "s", "n")
	const want = `cert:a lacks the verb lock for "n" in space s: it has roles r0, r2, r4, r6, r8, r10, r12, r14, r16, r18 and 70 more, of which none gives that; it needs one of the roles r1, r3, r5, r7, r9`
	if got := d.String(); got != want || len(d.Roles) != 80 {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestApplied: the grants of a subject, in the order of the file.
func TestApplied(t *testing.T) {
	var got []string
	for _, g := range parse(t, example).Applied(Subject{Name: "uid:7", Also: []string{"group:https://login.example#sre"}}) {
		got = append(got, fmt.Sprintf("%d %s(%d) %s %d %s", g.Line, g.Role, g.RoleLine, g.To, len(g.Rules), g.Rules[0].Space))
	}
	if want := "7 readers(3) * 1 *|8 sre(4) group:https://login.example#sre 1 *"; strings.Join(got, "|") != want {
		t.Errorf("%s, want %s", strings.Join(got, "|"), want)
	}
}

// TestAssertions: those that do not hold are reported with their lines, and with what decides instead.
func TestAssertions(t *testing.T) {
	p := parse(t, example+`
  - {subject: "token:ci", verb: [lock, read], space: default, name: [deploy/web, orders], allowed: false}
  - {subject: anonymous, verb: operate, space: default, name: "**", allowed: true}
  - {subject: "uid:0", verb: admin, space: "*", name: "**", allowed: false}
  - subject: "jwt:https://login.example#eve"
    groups: ["group:https://login.example#sre"]
    verb: break
    space: other
    name: x
    allowed: true
`)
	var got []string
	for _, f := range p.Test() {
		got = append(got, f.String())
	}
	want := []string{
		`line 17: it must be denied, but token:ci has the verb lock for "deploy/web" in space default: role deployers `,
		`line 17: it must be denied, but token:ci has the verb read for "deploy/web" in space default: role deployers `,
		`line 17: it must be denied, but token:ci has the verb read for "orders" in space default: role readers `,
		`line 18: it must be allowed, but anonymous lacks the verb operate for the whole of space default: it has role readers, `,
		`line 19: it must be denied, but uid:0 has the verb admin for the whole cluster: role sre `,
	}
	if len(got) != len(want) || p.Assertions() != 11 {
		t.Fatalf("%d of %d assertions fail: %s", len(got), p.Assertions(), strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("%s\nwant %s", got[i], want[i])
		}
	}
}

func TestVerbs(t *testing.T) {
	for _, v := range Verbs() {
		if parsed, err := ParseVerb(v.String()); err != nil || parsed != v || len(set(v).list()) != 1 || set(v).list()[0] != v {
			t.Errorf("%v is read as %v: %v", v, parsed, err)
		}
	}
	if _, err := ParseVerb("Lock"); err == nil || Verb(0).String() != "verb 0" || Verb(9).String() != "verb 9" {
		t.Errorf("a wrong verb: %v", err)
	}
	if set(Verbs()...) != every || set(0, 6, 255) != 0 {
		t.Error("a set of verbs is wrong")
	}
}
