package access

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestNamePatterns: what doc.go says of each pattern.
func TestNamePatterns(t *testing.T) {
	for _, test := range []struct {
		pattern string
		yes, no string // names, separated by blanks
	}{
		{"deploy", "deploy", "Deploy deploy/ deploy/web deploye eploy /deploy"},
		{"deploy/**", "deploy deploy/ deploy// deploy/web deploy/a/b deploy/a/", "deployment deploy-web /deploy a/deploy"},
		{"deploy/*", "deploy/ deploy/web", "deploy deploy/a/b deploy/a/"},
		{"deploy/", "deploy/", "deploy deploy//"},
		{"**", "a a/b / // a/ /a *", ""},
		{"*", "a * ab", "a/b / a/ /a"},
		{"*/*", "a/b / a/ /a", "a a/b/c"},
		{"web-*", "web- web-1 web-a-b", "web web-1/x aweb-1"},
		{"*-eu", "-eu a-eu a-eu-eu", "eu a-eu2 a/b-eu"},
		{"a*b", "ab axb abb axbxb a*b", "a b ba abx a/b"},
		{"a*b*c", "abc axbxc abbcc", "ac acb ab/c"},
		{"**/lock", "lock a/lock a/b/lock /lock", "alock lock/ a/lock/b"},
		{"a/**/z", "a/z a/b/z a/b/c/z a//z", "az a/zz a/z/ b/z"},
		{"a/**/b/**/c", "a/b/c a/x/b/y/c a/b/b/c/c", "a/c a/c/b b/c"},
		{"a/**/*", "a/ a/b a/b/c", "a ab"},
		{"**/*", "a a/b /", ""},
		{"**/", "/ a/ a/b/", "a /a"},
		{"/**", "/ /a /a/b", "a a/"},
		{"**/**", "a a/b /", ""},
		{"*/**", "a a/b a/b/c /", ""},
		{"a/**/**/b", "a/b a/x/b a/x/y/b", "ab a"},
		{"**/x-*/y", "x-/y a/x-1/y a/b/x-c/y", "x-1/a/y x-1y"},
		{"größe/*", "größe/ü", "grösse/ü größe"},
	} {
		if err := checkNamePattern(test.pattern); err != nil {
			t.Errorf("pattern %q: %v", test.pattern, err)
		}
		r := rights(Rule{Space: "s", Names: []string{test.pattern}, Verbs: []Verb{Lock}})
		for _, side := range []struct {
			names string
			want  bool
		}{{test.yes, true}, {test.no, false}} {
			for _, name := range strings.Fields(side.names) {
				if got := r.May(Lock, "s", name); got != side.want {
					t.Errorf("pattern %q matches %q: %v, want %v", test.pattern, name, got, side.want)
				}
				if reference := namesMatch(test.pattern, name); reference != side.want {
					t.Errorf("the reference: pattern %q matches %q: %v, want %v", test.pattern, name, reference, side.want)
				}
			}
		}
	}
}

// TestSpacePatterns: the space and the name of a question stay apart.
func TestSpacePatterns(t *testing.T) {
	for _, test := range []struct {
		space, names, asked, name string
		want                      bool
	}{
		{"s", "**", "s", "a", true},
		{"s", "**", "s/a", "b", false},
		{"s", "a/b", "s/a", "b", false},
		{"*", "a", "s", "a", true},
		{"*", "a", "s/a", "a", false},
		{"*", "**", "", "a", false},
		{"*", "**", "s", "", false},
		{"tenant-*", "**", "tenant-", "a", true},
		{"tenant-*", "**", "tenant-1-eu", "a/b", true},
		{"tenant-*", "**", "atenant-1", "a", false},
		{"*-eu", "x", "tenant-eu", "x", true},
		{"*-eu", "x", "tenant-eu", "eu/x", false},
		{"a**b", "x", "ab", "x", true},
		{"s", "x", "S", "x", false},
	} {
		r := rights(Rule{Space: test.space, Names: []string{test.names}, Verbs: []Verb{Lock}})
		if got := r.May(Lock, test.asked, test.name); got != test.want {
			t.Errorf("space %q with names %q: %q in space %q: %v, want %v", test.space, test.names, test.name, test.asked, got, test.want)
		}
	}
}

func TestSubjectPatterns(t *testing.T) {
	for _, test := range []struct {
		pattern, yes, no string
	}{
		{"*", "anonymous cert:a jwt:https://x#y uid:0 member:m1", ""},
		{"anonymous", "anonymous", "cert:anonymous"},
		{"cert:job-*", "cert:job- cert:job-1/2:3", "cert:job token:job-1"},
		{"jwt:https://login.example#*", "jwt:https://login.example#a jwt:https://login.example#a/b#c", "jwt:https://login.example.evil#a"},
		{"spiffe://prod/*", "spiffe://prod/a/b", "spiffe://prod spiffe://test/a"},
		{"*:ci", "token:ci cert:ci cert:a:ci", "token:ci2"},
		{"*-**-x", "cert:a--x cert:a-b-c-x", "cert:a-x"},
		{"uid:0", "uid:0", "uid:00 uid:01 gid:0"},
	} {
		for _, side := range []struct {
			names string
			want  bool
		}{{test.yes, true}, {test.no, false}} {
			for _, name := range strings.Fields(side.names) {
				if _, got := (Subject{Name: name}).matching([]string{test.pattern}); got != side.want {
					t.Errorf("pattern %q matches %q: %v, want %v", test.pattern, name, got, side.want)
				}
				if _, also := (Subject{Name: "member:-", Also: []string{name}}).matching([]string{test.pattern}); !also && side.want {
					t.Errorf("pattern %q does not match the further name %q", test.pattern, name)
				}
			}
		}
	}
}

// TestBadPatterns: each error names the pattern.
func TestBadPatterns(t *testing.T) {
	for _, test := range []struct {
		check    func(string) error
		patterns []string
		want     string
	}{
		{checkNamePattern, []string{"a**", "**a", "a/b**/c", "***", "a/***"}, `"**" stands for whole parts`},
		{checkNamePattern, []string{""}, "it is empty"},
		{checkNamePattern, []string{strings.Repeat("a", 513)}, "has 513 bytes; at most 512"},
		{checkNamePattern, []string{"a\x00", "a\nb", "a\u200bb", "\u202ea"}, "invisible character"},
		{checkNamePattern, []string{"\xff"}, "is not UTF-8"},
		{checkSpacePattern, []string{"a b", "a/*", "ä", "*!", strings.Repeat("a", 65) + "*"}, "matches no space"},
		{checkSubjectPattern, []string{"ci", "ci-*", "Cert:a", "anonymous2", "anonymousx*", "role:*", "//*"}, "subject"},
		{checkSubjectPattern, []string{"cert:", "spiffe://", "uid:", "jwt:"}, "names nothing"},
		{checkSubjectPattern, []string{"uid:x", "uid:-1", "gid:4294967296", "uid:01"}, "no number of a user or group"},
		{checkSubjectPattern, []string{"jwt:a", "jwt:#a", "group:a#"}, "does not have the form ISSUER#NAME"},
	} {
		for _, pattern := range test.patterns {
			err := test.check(pattern)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("pattern %q: %v, want an error with %q", pattern, err, test.want)
			}
			if err != nil && pattern != "" && !strings.Contains(err.Error(), quote(pattern)) {
				t.Errorf("pattern %q: the error does not name it: %v", pattern, err)
			}
		}
	}
}

// drawRules draws rules over few letters, so that they overlap.
func drawRules(t *rapid.T) []Rule {
	part := rapid.Map(rapid.StringMatching(`[ab*]{0,4}`), func(s string) string {
		if strings.Contains(s, "**") {
			return "**"
		}
		return s
	})
	names := rapid.Map(rapid.SliceOfN(part, 1, 4), func(parts []string) string { return strings.Join(parts, "/") }).
		Filter(func(s string) bool { return s != "" })
	rule := rapid.Custom(func(t *rapid.T) Rule {
		return Rule{
			Space: rapid.StringMatching(`[ab*]{1,3}`).Draw(t, "space"),
			Names: rapid.SliceOfN(names, 1, 6).Draw(t, "names"),
			Verbs: rapid.SliceOfNDistinct(rapid.SampledFrom(Verbs()), 1, 5, rapid.ID).Draw(t, "verbs"),
		}
	})
	return rapid.SliceOfN(rule, 1, 8).Draw(t, "rules")
}

// agree compares all answers about a space and a name with the reference.
func agree(t interface{ Fatalf(string, ...any) }, r *Rights, rules []Rule, space, name string) {
	always := func(string) bool { return true }
	for _, v := range Verbs() {
		for _, test := range []struct {
			what      string
			got, want bool
		}{
			{"May", r.May(v, space, name), name != "" && decides(rules, v, space, func(p string) bool { return namesMatch(p, name) })},
			{"Prefix", r.Prefix(v, space, name), decides(rules, v, space, func(p string) bool { return namesLead(p, name) })},
			{"Whole", r.Whole(v, space), decides(rules, v, space, func(p string) bool { return squeezeName(p) == "**" })},
			{"SomeIn", r.SomeIn(v, space), decides(rules, v, space, always)},
			{"Some", r.Some(v), decides(rules, v, "", always)},
			{"Everything", r.Everything(v), decides(rules, v, "*", func(p string) bool { return squeezeName(p) == "**" })},
		} {
			if test.got != test.want {
				t.Fatalf("%s(%v, %q, %q) is %v; want %v of %+v", test.what, v, space, name, test.got, test.want, rules)
			}
		}
	}
}

// TestTreeAgrees: the tree of any rules answers as the reference does.
func TestTreeAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := drawRules(t)
		r := rights(rules...)
		for range 20 {
			agree(t, r, rules, rapid.StringMatching(`[ab]{1,3}`).Draw(t, "space"), rapid.StringMatching(`[ab/]{0,9}`).Draw(t, "name"))
		}
	})
}

// TestManyStars: a name that meets far more stars than a search has room for.
func TestManyStars(t *testing.T) {
	var rules []Rule
	for i := range 60 {
		rules = append(rules, Rule{Space: "*", Names: []string{
			strings.Repeat("*a", i%20+1) + strings.Repeat("a", i), "**/" + strings.Repeat("*a*", i%7+1) + "/**/b",
		}, Verbs: []Verb{Lock}})
	}
	r := rights(rules...)
	for _, name := range []string{
		strings.Repeat("a", 100), strings.Repeat("a", 100) + "b", strings.Repeat("aa/", 60), strings.Repeat("aa/", 60) + "b", strings.Repeat("ab/", 40) + "b",
	} {
		agree(t, r, rules, "aaaa", name)
	}
	s := search{tree: r.load()[0].names, want: bit(Lock)}
	if s.at(&s.tree.root, []byte("aaaa/"+strings.Repeat("ba", 40)+"c"), 0) || len(s.more) == 0 {
		t.Errorf("%d stars were beyond the room of a search; want some, and no match", len(s.more))
	}
}

// TestStarsInLaterParts: a star for which a search has no room any more is tried in each part of a name, once.
func TestStarsInLaterParts(t *testing.T) {
	rules := []Rule{{Space: "s", Names: []string{"aaaaaaaaaa/**/b*c"}, Verbs: []Verb{Lock}}}
	for i := range 10 {
		rules[0].Names = append(rules[0].Names, strings.Repeat("a", i+1)+"*z")
	}
	r := rights(rules...)
	for _, name := range []string{"aaaaaaaaaa/bx/bc", "aaaaaaaaaa/bx/b/x/bxc", "aaaaaaaaaa/bx/b", "aaaaaaaaaaz"} {
		agree(t, r, rules, "s", name)
	}
	s := search{tree: r.load()[0].names, want: bit(Lock)}
	if !s.at(&s.tree.root, []byte("s/aaaaaaaaaa/bx/bc"), 0) || len(s.more) == 0 {
		t.Errorf("%d stars were beyond the room of a search; want some, and a match", len(s.more))
	}
}

// TestHostileNames: the longest names against the worst patterns. Where a star is tried from a place twice, this does not
// end before the limit of the test.
func TestHostileNames(t *testing.T) {
	var rules []Rule
	for i := range 200 {
		rules = append(rules, Rule{Space: "*", Names: []string{
			strings.Repeat("*a", 60+i%100) + "b", strings.Repeat("**/*a*/", 40+i%20) + "b", strings.Repeat("**/a/", 30+i%70) + "b",
		}, Verbs: []Verb{Lock}})
	}
	r := rights(rules...)
	for _, name := range []string{strings.Repeat("a", 512), strings.Repeat("a/", 256), strings.Repeat("/", 512), strings.Repeat("aa/", 170)} {
		if r.May(Lock, strings.Repeat("a", 64), name) {
			t.Errorf("%q was granted", name)
		}
	}
}
