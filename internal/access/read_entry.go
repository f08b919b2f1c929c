package access

import (
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/holdfast-locks/holdfast"
)

// top reads the file. The roles come first wherever they are in it, because grants refer to them.
func (r *reader) top(root *yaml.Node) {
	sections := map[string]*yaml.Node{}
	if !r.mapping("", root, fields{
		keys:     []string{"roles", "grants", "quotas", "issuers", "tests"},
		required: []string{"roles", "grants"},
		read:     func(name, _ string, value *yaml.Node) { sections[name] = value },
	}) {
		return
	}
	r.pairs("roles", sections["roles"], r.role)
	r.list("grants", sections["grants"], r.grant)
	for _, section := range []struct {
		name string
		read func(key string, node *yaml.Node)
	}{{"quotas", r.quota}, {"issuers", r.issuer}, {"tests", r.test}} {
		if node := sections[section.name]; node != nil {
			r.list(section.name, node, section.read)
		}
	}
	if len(r.faults) == 0 && len(r.policy.grants) == 0 {
		r.fault(root.Line, "grants", "there is no grant, so no subject could do anything", "grant a role, as in {role: readers, to: [\"*\"]}")
	}
}

// role reads a role: a mapping with rules.
func (r *reader) role(name, key string, at, value *yaml.Node) {
	if holdfast.CheckSpace(name) != nil {
		r.fault(at.Line, key, quote(name)+" is no name of a role", `give it 1 to 64 letters, digits, "-", "_" and "."`)
		return
	}
	if !r.count(countRoles, key, value) {
		return
	}
	r.roles[name] = len(r.policy.roles)
	role := &role{name: name, line: at.Line}
	r.policy.roles = append(r.policy.roles, role)
	r.mapping(key, value, fields{[]string{"rules"}, []string{"rules"}, func(_, key string, value *yaml.Node) {
		r.list(key, value, func(key string, node *yaml.Node) {
			rule := Rule{Line: node.Line}
			r.mapping(key, node, fields{
				[]string{"space", "names", "verbs"}, []string{"space", "names", "verbs"},
				func(name, key string, value *yaml.Node) { r.rule(&rule, name, key, value) },
			})
			role.rules = append(role.rules, rule)
		})
	}})
}

// rule reads a key of a rule.
func (r *reader) rule(rule *Rule, name, key string, value *yaml.Node) {
	switch name {
	case "space":
		if text, good := r.text(key, value); good && r.check(key, value, checkSpacePattern(text)) {
			rule.Space = text
		}
	case "names":
		r.texts(key, value, func(key, text string, node *yaml.Node) {
			if r.count(countNames, key, node) && r.check(key, node, checkNamePattern(text)) {
				rule.Names = append(rule.Names, text)
			}
		})
	case "verbs":
		rule.Verbs = r.verbs(key, value)
	}
}

// verbs reads a list of verbs, or one.
func (r *reader) verbs(key string, value *yaml.Node) (all []Verb) {
	r.texts(key, value, func(key, text string, node *yaml.Node) {
		v, err := ParseVerb(text)
		switch {
		case !r.check(key, node, err):
		case set(all...)&bit(v) != 0:
			r.wrong(key, node, "is there twice", "write each verb once")
		default:
			all = append(all, v)
		}
	})
	return all
}

// check adds a fault for an error about the value of a node, and reports whether there is none.
func (r *reader) check(key string, node *yaml.Node, err error) bool {
	if err != nil {
		r.fault(node.Line, key, err.Error(), "")
	}
	return err == nil
}

// grant reads a grant.
func (r *reader) grant(key string, node *yaml.Node) {
	g := grant{line: node.Line}
	r.mapping(key, node, fields{[]string{"role", "to"}, []string{"role", "to"}, func(name, key string, value *yaml.Node) {
		if name == "to" {
			g.to = r.to(countGrants, key, value)
			return
		}
		text, good := r.text(key, value)
		if !good {
			return
		}
		index, defined := r.roles[text]
		if !defined {
			r.wrong(key, value, "is not a role of this file", "define it under roles, or correct it")
		}
		g.role = index
	}})
	r.policy.grants = append(r.policy.grants, g)
}

// to reads patterns of subjects.
func (r *reader) to(count, key string, value *yaml.Node) (all []string) {
	r.texts(key, value, func(key, text string, node *yaml.Node) {
		if r.count(count, key, node) && r.check(key, node, checkSubjectPattern(text)) {
			all = append(all, text)
		}
	})
	return all
}

// quota reads an entry of quotas.
func (r *reader) quota(key string, node *yaml.Node) {
	q := quota{line: node.Line}
	numbers := map[string]*int{
		"sessions": &q.Sessions, "locks": &q.Locks, "waiters": &q.Waiters, "requests_per_second": &q.RequestsPerSecond,
	}
	limited := false
	good := r.mapping(key, node, fields{
		[]string{"to", "sessions", "locks", "waiters", "requests_per_second"}, []string{"to"},
		func(name, key string, value *yaml.Node) {
			if name == "to" {
				q.to = r.to(countQuotas, key, value)
				return
			}
			limited = true
			*numbers[name] = r.number(key, value)
		},
	})
	if good && !limited {
		r.fault(node.Line, key, "the entry limits nothing", "give at least one of sessions, locks, waiters, requests_per_second")
	}
	r.policy.quotas = append(r.policy.quotas, q)
}

// number reads a limit.
func (r *reader) number(key string, value *yaml.Node) int {
	text, good := r.text(key, value)
	if !good {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		r.wrong(key, value, fmt.Sprintf("is no number from 1 to %d", math.MaxInt32), "write such a number, or leave the key out for the default")
		return 0
	}
	return int(n)
}

// issuer reads an issuer.
func (r *reader) issuer(key string, node *yaml.Node) {
	if len(r.policy.issuers) == MaxIssuers {
		r.fault(node.Line, key, fmt.Sprintf("the file has more than %d issuers", MaxIssuers), "leave out those that are not used")
		return
	}
	i := Issuer{Line: node.Line}
	good := r.mapping(key, node, fields{
		[]string{"issuer", "audience", "jwks", "groups"}, []string{"issuer", "audience"},
		func(name, key string, value *yaml.Node) {
			text, good := r.text(key, value)
			if !good || !r.check(key, value, checkVisible(text, maxSubject)) {
				return
			}
			switch name {
			case "issuer":
				i.URL = text
			case "audience":
				i.Audience = text
			case "jwks":
				i.JWKS = text
			case "groups":
				i.Groups = text
			}
		},
	})
	if good && i.URL != "" {
		r.checkIssuer(key, node.Line, i)
	}
	r.policy.issuers = append(r.policy.issuers, i)
}

// checkIssuer adds the faults of an issuer that is complete.
func (r *reader) checkIssuer(key string, line int, i Issuer) {
	const httpsFix = "write an https URL; http is for loopback"
	switch {
	case strings.ContainsAny(i.URL, "#* "):
		r.fault(line, key+".issuer", quote(i.URL)+` has "#", "*" or a space, which a subject's name and its patterns need`, "give the claim iss of its tokens")
	case i.JWKS == "" && !isSafeURL(i.URL):
		r.fault(line, key+".issuer", quote(i.URL)+" is no URL at which its keys can be found safely", httpsFix+", or give its keys with jwks")
	case strings.Contains(i.JWKS, "://") && !isSafeURL(i.JWKS):
		r.fault(line, key+".jwks", quote(i.JWKS)+" is no safe source of keys", httpsFix+", or the path of a file")
	}
	for _, other := range r.policy.issuers {
		if other.URL == i.URL {
			r.fault(line, key+".issuer", fmt.Sprintf("%s is in line %d too", quote(i.URL), other.Line), "write each issuer once")
		}
	}
}

// isSafeURL reports whether what is behind a URL cannot be changed on the way.
func isSafeURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	loopback := u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
	return u.Scheme == "https" || u.Scheme == "http" && loopback
}

// test reads assertions: one for each of the verbs and names of an entry.
func (r *reader) test(key string, node *yaml.Node) {
	a := assertion{line: node.Line}
	var given []Verb
	var names []string
	good := r.mapping(key, node, fields{
		[]string{"subject", "groups", "verb", "space", "name", "allowed"}, []string{"subject", "verb", "space", "name", "allowed"},
		func(name, key string, value *yaml.Node) {
			switch name {
			case "verb":
				given = r.verbs(key, value)
			case "name":
				r.texts(key, value, func(key, text string, node *yaml.Node) {
					if r.check(key, node, checkVisible(text, holdfast.MaxName)) {
						names = append(names, text)
					}
				})
			case "groups":
				a.subject.Also = r.groups(key, value)
			default:
				r.testText(&a, name, key, value)
			}
		},
	})
	if good && a.space == "*" && !(len(names) == 1 && names[0] == "**") {
		r.fault(node.Line, key, `the space "*" goes with the name "**" alone: the whole cluster`, "name one space")
	}
	for _, v := range given {
		for _, name := range names {
			if !r.count(countAssertions, key, node) {
				return
			}
			one := a
			one.verb = v
			one.space, one.name = Target(a.space, name)
			r.policy.assertions = append(r.policy.assertions, one)
		}
	}
}

// groups reads the further names of a subject.
func (r *reader) groups(key string, value *yaml.Node) (all []string) {
	r.texts(key, value, func(key, text string, node *yaml.Node) {
		if r.check(key, node, checkSubject(text)) {
			all = append(all, text)
		}
	})
	return all
}

// testText reads a key of an assertion that has one text.
func (r *reader) testText(a *assertion, name, key string, value *yaml.Node) {
	text, good := r.text(key, value)
	if !good {
		return
	}
	switch name {
	case "subject":
		if r.check(key, value, Subject{Name: text}.Check()) {
			a.subject.Name = text
		}
	case "space":
		if text == "*" || r.check(key, value, holdfast.CheckSpace(text)) {
			a.space = text
		}
	case "allowed":
		if text != "true" && text != "false" {
			r.wrong(key, value, "is neither true nor false", "write allowed: true or allowed: false")
		}
		a.allowed = text == "true"
	}
}
