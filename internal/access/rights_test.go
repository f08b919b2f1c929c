package access

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// manyRules returns a file with about n rules of several kinds, all of one role.
func manyRules(n int) string {
	var b strings.Builder
	b.WriteString("roles:\n  all:\n    rules:\n")
	for i := range n / 5 {
		for _, names := range []string{"team-%d/**", "svc-%d-*/lock", "*/db-%d", "**/shard-%d", "jobs/nightly/%d"} {
			fmt.Fprintf(&b, "    - {space: default, names: [\"%s\"], verbs: [lock, read]}\n", fmt.Sprintf(names, i))
		}
	}
	b.WriteString("grants: [{role: all, to: [\"*\"]}]\n")
	return b.String()
}

// questions are names that the rules of manyRules have, and that they do not have.
var questions = []string{"team-1999/a/b", "svc-77-eu/lock", "x/db-1234", "a/b/c/d/shard-1", "jobs/nightly/42", "orders/42", "team-2000/a", "a/b/c/d/e/f/g/h"}

// TestMayAllocatesNothing: nor do the other questions, nor finding the rights of a subject that was not seen before.
func TestMayAllocatesNothing(t *testing.T) {
	p := parse(t, manyRules(10_000))
	r := p.Rights(Subject{Name: "token:a"})
	if !r.May(Lock, "default", questions[0]) || r.May(Lock, "default", questions[5]) {
		t.Fatal("the rules do not say what they should")
	}
	long := strings.Repeat("n/", 256)
	subject := Subject{Name: "jwt:https://login.example#someone", Also: []string{"group:https://login.example#a", "group:https://login.example#b"}}
	for what, question := range map[string]func(){
		"May": func() {
			for _, name := range questions {
				r.May(Lock, "default", name)
				r.May(Admin, "default", name)
			}
		},
		"May of the longest name": func() { r.May(Lock, "default", long) },
		"Prefix":                  func() { r.Prefix(Read, "default", "team-1") },
		"the others":              func() { r.Whole(Lock, "default"); r.SomeIn(Lock, "default"); r.Everything(Lock); r.Some(Lock) },
		"Rights":                  func() { p.Rights(subject) },
		"Quota":                   func() { p.Quota(subject) },
	} {
		if n := testing.AllocsPerRun(100, question); n != 0 {
			t.Errorf("%s allocates %v times", what, n)
		}
	}
}

// TestFloodOfSubjects: 100,000 subjects that only patterns match leave nothing behind.
func TestFloodOfSubjects(t *testing.T) {
	p := parse(t, "roles: {a: {rules: [{space: s, names: n, verbs: lock}]}, b: {rules: [{space: s, names: m, verbs: lock}]}}\n"+
		"grants: [{role: a, to: [\"*\"]}, {role: b, to: [\"token:*\"]}, {role: b, to: [\"cert:x\"]}]")
	for i := range 50_000 {
		one, two := p.Rights(Subject{Name: fmt.Sprintf("token:%d", i)}), p.Rights(Subject{Name: fmt.Sprintf("cert:%d", i)})
		if !one.May(Lock, "s", "m") || two.May(Lock, "s", "m") {
			t.Fatal("a subject of the flood has wrong rights")
		}
	}
	if n := len(p.rights.sets); n != 2 {
		t.Errorf("%d sets of roles are kept after the flood, want 2", n)
	}
}

// TestFloodOfSets: subjects with ever new sets of roles use the cache up to its bound, and have the right rights beyond.
func TestFloodOfSets(t *testing.T) {
	const roles = 16
	var b strings.Builder
	b.WriteString("roles:\n")
	for i := range roles {
		fmt.Fprintf(&b, "  r%d: {rules: [{space: s, names: [%s], verbs: lock}]}\n", i, strings.Repeat(fmt.Sprintf("n%d,", i), 1000))
	}
	b.WriteString("grants:\n")
	for i := range roles {
		fmt.Fprintf(&b, "- {role: r%d, to: [\"gid:%d\"]}\n", i, i)
	}
	p := parse(t, b.String())
	budget := p.rights.budget
	uncached := 0
	for mask := range 1 << roles {
		if mask%97 != 0 {
			continue
		}
		s := Subject{Name: "uid:1"}
		for i := range roles {
			if mask&(1<<i) != 0 {
				s.Also = append(s.Also, fmt.Sprintf("gid:%d", i))
			}
		}
		r := p.Rights(s)
		if len(s.Also) > 1 && !r.merged {
			uncached++
		}
		if len(r.Roles()) != len(s.Also) {
			t.Fatalf("%v has the roles %v", s, r.Roles())
		}
		for i := range roles {
			if got := r.May(Lock, "s", fmt.Sprintf("n%d", i)); got != (mask&(1<<i) != 0) {
				t.Fatalf("%v may lock n%d: %v", s, i, got)
			}
		}
	}
	kept := 0
	for _, r := range p.rights.sets {
		kept += setCost
		for _, role := range r.roles {
			if r.merged {
				kept += role.weight()
			}
		}
	}
	if p.rights.budget < 0 || kept+p.rights.budget != budget || uncached == 0 {
		t.Errorf("of %d, %d are left and %d are kept; %d sets were beyond the bound, want some", budget, p.rights.budget, kept, uncached)
	}
}

// TestRightsAgree: subjects, grants and roles at random have the union of their rules, from the cache and without it.
func TestRightsAgree(t *testing.T) {
	subjects := rapid.SampledFrom([]string{"*", "token:a", "token:*", "cert:*b", "cert:ab", "gid:1", "gid:*", "group:x#*"})
	names := rapid.SampledFrom([]string{"token:a", "token:ab", "cert:ab", "cert:b", "anonymous"})
	also := rapid.SampledFrom([]string{"gid:1", "gid:2", "group:x#y"})
	rapid.Check(t, func(t *rapid.T) {
		p := &Policy{granted: &tree{crosses: true}, rights: cache{sets: map[string]*Rights{}, budget: rapid.IntRange(0, 200).Draw(t, "budget")}}
		for i := range rapid.IntRange(1, 8).Draw(t, "roles") {
			p.roles = append(p.roles, &role{name: fmt.Sprint("r", i), rules: drawRules(t)})
			g := grant{role: i, to: rapid.SliceOfN(subjects, 1, 3).Draw(t, "to")}
			p.grants = append(p.grants, g)
			for _, to := range g.to {
				p.granted.add(subjectSteps(to), false, every, int32(i)+1)
			}
		}
		for range 5 {
			s := Subject{Name: names.Draw(t, "name"), Also: rapid.SliceOfN(also, 0, 3).Draw(t, "also")}
			space, name := rapid.StringMatching(`[ab]{1,3}`).Draw(t, "space"), rapid.StringMatching(`[ab/]{1,9}`).Draw(t, "name")
			rules := p.rulesOf(s)
			agree(t, p.Rights(s), rules, space, name)
			for _, v := range Verbs() {
				want := decides(rules, v, space, func(pattern string) bool { return namesMatch(pattern, name) })
				d := p.Explain(s, v, space, name)
				if d.Allowed != want || want && !slices.Contains(p.Rights(s).Roles(), d.Role) {
					t.Fatalf("it is explained as %+v, want %v", d, want)
				}
				if want && (!namesMatch(d.Names, name) || !globs(d.Rule.Space, space) || !slices.Contains(d.Rule.Verbs, v)) {
					t.Fatalf("the rule %+v does not allow it", d.Rule)
				}
				for _, d := range []Decision{
					d, p.Explain(s, v, space, ""), p.Explain(s, v, "", ""), p.ExplainSome(s, v, space), p.ExplainSome(s, v, ""),
				} {
					if want := p.helping(d); !d.Allowed && !slices.Equal(d.Missing, want) {
						t.Fatalf("%+v: %v would help", d, want)
					}
				}
			}
		}
	})
}

// helping returns the first roles that would allow what a decision is about.
func (p *Policy) helping(d Decision) (names []string) {
	for _, r := range p.roles {
		if d.of(rights(r.rules...)) && len(names) < MaxMissing {
			names = append(names, r.name)
		}
	}
	return names
}

// TestTogether: many goroutines ask a new policy at once.
func TestTogether(t *testing.T) {
	p := parse(t, manyRules(1000))
	if r := p.Rights(Subject{Name: "token:0"}); r.tables != nil {
		t.Error("a tree is there before it is needed")
	} else if r.Prepare(); r.tables == nil {
		t.Error("no tree is there after Prepare")
	}
	p = parse(t, manyRules(1000))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 200 {
				s := Subject{Name: fmt.Sprintf("token:%d", i)}
				if !p.Rights(s).May(Lock, "default", "team-1/x") || p.Explain(s, Lock, "default", "orders").Allowed {
					t.Error("a wrong decision")
				}
			}
		})
	}
	all.Wait()
}

func BenchmarkMay(b *testing.B) {
	r := parse(b, manyRules(10_000)).Rights(Subject{Name: "token:a"})
	for _, name := range questions {
		b.Run(strings.ReplaceAll(name, "/", "."), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.May(Lock, "default", name)
			}
		})
	}
}

func BenchmarkRights(b *testing.B) {
	p := parse(b, manyRules(10_000))
	s := Subject{Name: "jwt:https://login.example#someone"}
	b.ReportAllocs()
	for b.Loop() {
		p.Rights(s)
	}
}

// BenchmarkDenial is a refusal with its sentence, where 1,000 roles could give what is missing.
func BenchmarkDenial(b *testing.B) {
	var file strings.Builder
	file.WriteString("roles:\n")
	for i := range 1000 {
		fmt.Fprintf(&file, "  r%d: {rules: [{space: default, names: [\"team-%d/**\"], verbs: lock}]}\n", i, i)
	}
	p := parse(b, file.String()+"grants: [{role: r0, to: \"*\"}]\n")
	s := Subject{Name: "token:a"}
	b.ReportAllocs()
	for b.Loop() {
		_ = p.Explain(s, Lock, "default", "team-999/x").String()
	}
}

// BenchmarkReload is the time from the text of 10,000 rules to the first decision.
func BenchmarkReload(b *testing.B) {
	text := []byte(manyRules(10_000))
	for b.Loop() {
		p, err := Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		p.Rights(Subject{Name: "token:a"}).May(Lock, "default", "x")
	}
}
