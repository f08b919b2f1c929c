package access

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// FuzzPolicy: a file is refused with sentences, or is a policy that another file of the same meaning has too, and that
// decides as the reference does.
func FuzzPolicy(f *testing.F) {
	f.Add([]byte(example))
	for _, text := range same {
		f.Add([]byte(text))
	}
	for _, text := range []string{
		"", "roles: &a {b: *a}\ngrants: [*a]", "roles: {a: {rules: [{space: *, names: **, verbs: lock}]}}", "? [a]\n: b", "---\n---\n", "&a : b", "<<: *a",
		"roles: {a: {rules: [&r {space: \"a*b\", names: [a**, \"*a*/**/*\"], verbs: [lock]}, *r]}}\ngrants: [{role: a, to: [\"cert:*-*\", \"*\"]}]",
		"roles: {a: {rules: [{space: s, names: !!binary aGk=, verbs: [lock]}]}}\ngrants: [{role: a, to: |\n  cert:a\n}]",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			t.Skip("the bounds of large files have tests of their own")
		}
		p, err := Parse(data)
		if err != nil {
			checkRefusal(t, err)
			return
		}
		again, err := Parse([]byte(p.rewritten()))
		if err != nil {
			t.Fatalf("what was read is refused when it is written again: %v\n%s", err, p.rewritten())
		}
		if again.Digest() != p.Digest() || len(p.Digest()) != 2*digestBytes {
			t.Fatalf("digest %s becomes %s for\n%s", p.Digest(), again.Digest(), p.rewritten())
		}
		p.Test()
		if len(p.roles) > 100 || len(p.grants) > 100 {
			return
		}
		for _, s := range p.examples() {
			p.Quota(s)
			p.Applied(s)
			for _, name := range []string{"a", "a/b", "web-1/x", string(data[:min(len(data), 40)])} {
				checkDecisions(t, p, s, "default", name)
			}
		}
	})
}

// checkRefusal checks the sentences of an error.
func checkRefusal(t *testing.T, err error) {
	var refused *Error
	if !errors.As(err, &refused) || len(refused.Faults) == 0 {
		t.Fatalf("an error without a fault: %v", err)
	}
	for _, f := range refused.Faults {
		if strings.ContainsFunc(f.String(), unicode.IsControl) || f.Wrong == "" {
			t.Fatalf("a fault that is no sentence in one line: %q", f.String())
		}
	}
}

// checkDecisions compares all answers about a subject and a name.
func checkDecisions(t *testing.T, p *Policy, s Subject, space, name string) {
	rules := p.rulesOf(s)
	agree(t, p.Rights(s), rules, space, name)
	for _, v := range Verbs() {
		if d := p.Explain(s, v, space, name); d.Allowed != d.of(p.Rights(s)) || d.Allowed && d.Role == "" || d.Reason() == "" {
			t.Fatalf("an explanation that does not explain: %+v", d)
		}
	}
}

// examples returns subjects that the grants of a policy match.
func (p *Policy) examples() []Subject {
	all := []Subject{{Name: Anonymous}, {}}
	for _, g := range p.grants {
		for _, to := range g.to {
			all = append(all, Subject{Name: strings.ReplaceAll(to, "*", "x")}, Subject{Name: "cert:a", Also: []string{to}})
		}
	}
	return all[:min(len(all), 20)]
}

// rewritten writes a file of the same meaning: with other lists, in another order, a rule for each pattern and verb.
func (p *Policy) rewritten() string {
	var b strings.Builder
	b.WriteString("quotas:\n")
	for _, q := range p.quotas {
		to := slices.Clone(q.to)
		slices.Reverse(to)
		fmt.Fprintf(&b, "- {to: %s", quoted(append(to, to[0])))
		for _, n := range []struct {
			key   string
			value int
		}{
			{"requests_per_second", q.RequestsPerSecond}, {"waiters", q.Waiters}, {"locks", q.Locks}, {"sessions", q.Sessions},
		} {
			if n.value > 0 {
				fmt.Fprintf(&b, ", %s: %d", n.key, n.value)
			}
		}
		b.WriteString("}\n")
	}
	b.WriteString("roles:\n")
	for _, r := range slices.Backward(p.roles) {
		fmt.Fprintf(&b, "  %s:\n    rules:\n", strconv.Quote(r.name))
		for _, rule := range slices.Backward(r.rules) {
			for _, name := range rule.Names {
				for _, v := range rule.Verbs {
					fmt.Fprintf(&b, "    - {verbs: %v, names: %s, space: %s}\n", v, quoted([]string{name}), strconv.Quote(rule.Space))
				}
			}
		}
		if len(r.rules) == 0 {
			b.WriteString("      []\n")
		}
	}
	b.WriteString("issuers:\n")
	for _, i := range slices.Backward(p.issuers) {
		fmt.Fprintf(&b, "- {issuer: %q, audience: %q", i.URL, i.Audience)
		if i.JWKS != "" {
			fmt.Fprintf(&b, ", jwks: %q", i.JWKS)
		}
		if i.Groups != "" {
			fmt.Fprintf(&b, ", groups: %q", i.Groups)
		}
		b.WriteString("}\n")
	}
	b.WriteString("grants:\n")
	for _, g := range slices.Backward(p.grants) {
		for _, to := range g.to {
			fmt.Fprintf(&b, "- {to: %s, role: %s}\n", strconv.Quote(to), strconv.Quote(p.roles[g.role].name))
		}
	}
	text := b.String()
	for _, section := range []string{"quotas", "issuers"} { // a key without entries is no list
		for _, next := range []string{"roles", "grants"} {
			text = strings.Replace(text, section+":\n"+next, next, 1)
		}
	}
	return text
}

func quoted(all []string) string {
	var list []string
	for _, text := range all {
		list = append(list, strconv.Quote(text))
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// FuzzPatterns: any patterns, one on each line as SPACE NAMES VERBS, decide as the reference does; what the checks of
// patterns refuse is left out.
func FuzzPatterns(f *testing.F) {
	for _, rules := range []string{
		"* ** 1", "s deploy/** 3\ns deploy/* 4", "a*b *a*b*a 1\n*b **/*a/**/b 2", "s a 1\ns ab 2\ns abc 4\ns b 8\ns * 16", "s **/a/**/a/**/a 1",
		"s a/*/a/*/a 1\ns a/**/b 2\ns **/*/** 4", "* */** 1\n* /** 2\n* **/ 4",
	} {
		f.Add(rules, "s", "a/a/b/a")
		f.Add(rules, "ab", "deploy/a")
	}
	f.Fuzz(func(t *testing.T, text, space, name string) {
		if len(text) > 300 || len(name) > 64 || len(space) > 70 || strings.Contains(space, "/") || space == "" {
			t.Skip("the reference is slow, and only takes what can be a space")
		}
		var rules []Rule
		for line := range strings.Lines(text) {
			fields := strings.Fields(line)
			if len(fields) != 3 || len(fields[2]) != 1 || checkSpacePattern(fields[0]) != nil || checkNamePattern(fields[1]) != nil {
				continue
			}
			if granted := verbs(fields[2][0]) & every; granted != 0 {
				rules = append(rules, Rule{Space: fields[0], Names: []string{fields[1]}, Verbs: granted.list()})
			}
		}
		agree(t, rights(rules...), rules, space, name)
	})
}

// FuzzSubjects: the tree of the grants finds the patterns that match a subject, and the form of a subject is checked
// without a panic.
func FuzzSubjects(f *testing.F) {
	f.Add("*\ncert:*\ncert:a*b*c\nuid:0", "cert:a-b-c", "uid:0")
	f.Add("jwt:*#ops\njwt:https://x#*", "jwt:https://x#ops", "group:https://x#a")
	f.Add("anonymous\ntoken:**x", "anonymous", "token:x")
	f.Fuzz(func(t *testing.T, text, name, also string) {
		if len(text) > 1000 || len(name) > 200 || len(also) > 200 {
			t.Skip("the reference is slow")
		}
		grants, want := &tree{crosses: true}, []int32(nil)
		for i, pattern := range strings.Split(text, "\n") {
			if checkSubjectPattern(pattern) != nil {
				continue
			}
			grants.add(subjectSteps(pattern), false, every, int32(i)+1)
			if globs(pattern, name) || globs(pattern, also) {
				want = append(want, int32(i)+1)
			}
		}
		s := Subject{Name: name, Also: []string{also}}
		var found search
		s.collect(&found, grants)
		if got := found.collected(); !slices.Equal(got, want) {
			t.Fatalf("patterns %q of %v: found %v, want %v", text, s, got, want)
		}
		if err := s.Check(); err == nil && checkSubjectPattern(strings.ReplaceAll(name, "*", "")) != nil && !strings.Contains(name, "*") {
			t.Fatalf("%v is a subject, and not a pattern of one", s)
		}
	})
}
