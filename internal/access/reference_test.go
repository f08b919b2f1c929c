package access

import (
	"slices"
	"strings"
)

// This file is the reference that the tree is compared with: the text of doc.go, as directly as it can be written.

// covers reports whether a pattern matches all of a text: an element of the pattern for which many holds matches any
// number of elements of the text, and another one a single element that one accepts.
func covers[P, T any](pattern []P, text []T, many func(P) bool, one func(P, T) bool) bool {
	return slices.Contains(reached(pattern, text, many, one)[len(pattern):], true)
}

// reached returns for each number of elements of the pattern whether that many match all of the text.
func reached[P, T any](pattern []P, text []T, many func(P) bool, one func(P, T) bool) []bool {
	now := make([]bool, len(pattern)+1)
	now[0] = true
	spread := func(states []bool) {
		for k, p := range pattern {
			states[k+1] = states[k+1] || states[k] && many(p)
		}
	}
	spread(now)
	for _, t := range text {
		next := make([]bool, len(pattern)+1)
		for k, p := range pattern {
			if many(p) {
				next[k+1] = next[k+1] || now[k+1]
			} else {
				next[k+1] = next[k+1] || now[k] && one(p, t)
			}
		}
		spread(next)
		now = next
	}
	return now
}

func isStar(b byte) bool           { return b == '*' }
func sameByte(p, t byte) bool      { return p == t }
func isDeep(part string) bool      { return part == "**" }
func globs(pattern, t string) bool { return covers([]byte(pattern), []byte(t), isStar, sameByte) }

// namesMatch is the reference for patterns of names.
func namesMatch(pattern, name string) bool {
	return covers(strings.Split(pattern, "/"), strings.Split(name, "/"), isDeep, globs)
}

// namesLead is the reference for prefixes: a name that begins with prefix can match the pattern.
func namesLead(pattern, prefix string) bool {
	parts, begun := strings.Split(pattern, "/"), strings.Split(prefix, "/")
	last := len(begun) - 1
	for k, is := range reached(parts, begun[:last], isDeep, globs) {
		switch {
		case !is:
		case k > 0 && isDeep(parts[k-1]), k < len(parts) && isDeep(parts[k]):
			return true
		case k < len(parts) && slices.Contains(reached([]byte(parts[k]), []byte(begun[last]), isStar, sameByte), true):
			return true
		}
	}
	return false
}

// decides is the reference for rights: whether a rule with the verb has a space and a name for which match holds.
func decides(rules []Rule, v Verb, space string, match func(names string) bool) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool {
		return slices.Contains(r.Verbs, v) && (space == "" || globs(r.Space, space)) && slices.ContainsFunc(r.Names, match)
	})
}

// rulesOf is the reference for the grants of a policy.
func (p *Policy) rulesOf(s Subject) (all []Rule) {
	for _, g := range p.grants {
		for _, name := range append([]string{s.Name}, s.Also...) {
			if slices.ContainsFunc(g.to, func(to string) bool { return globs(to, name) }) {
				all = append(all, p.roles[g.role].rules...)
			}
		}
	}
	return all
}

// list returns the verbs of a set, in the order of the constants.
func (s verbs) list() (all []Verb) {
	for _, v := range Verbs() {
		if s&bit(v) != 0 {
			all = append(all, v)
		}
	}
	return all
}
