package access

import (
	"fmt"
	"strings"
	"sync"
)

// Decision is a decision with its reason.
type Decision struct {
	Allowed bool
	Subject string
	Verb    Verb
	// What it is about. Without a name it is the space as a whole; without a space too, it is the whole cluster, or with
	// Some any name.
	Space, Name string
	Some        bool

	Policy string // the digest of the policy

	// What allows it, for a policy of a file.
	Role     string
	RoleLine int
	To       string // the pattern of the grant that matches the subject
	ToLine   int
	Rule     Rule
	Names    string // the pattern of the rule that matches the name

	// Why it is denied, for a policy of a file: the roles that the subject has, and those that would allow it, at most
	// MaxMissing.
	Roles   []string
	Missing []string
}

// MaxMissing is the largest number of missing roles that a Decision names.
const MaxMissing = 5

// Explain decides as the methods of [Rights] do, and says why. Without a name it decides as [Rights.Whole], without a
// space too as [Rights.Everything]. A denial is cheap enough for each refusal of a member. What is allowed takes a look at
// each rule of the subject, so it is for people.
func (p *Policy) Explain(s Subject, v Verb, space, name string) Decision {
	return p.explain(s, Decision{Subject: s.Name, Verb: v, Space: space, Name: name})
}

// ExplainSome decides as [Rights.Some], or with a space as [Rights.SomeIn], and says why.
func (p *Policy) ExplainSome(s Subject, v Verb, space string) Decision {
	return p.explain(s, Decision{Subject: s.Name, Verb: v, Space: space, Some: true})
}

func (p *Policy) explain(s Subject, d Decision) Decision {
	d.Policy = p.digest
	rights := p.Rights(s)
	d.Allowed = d.of(rights)
	switch {
	case p.builtin != nil:
		return d
	case d.Allowed:
		p.allowing(s, &d)
		return d
	}
	d.Roles = rights.Roles()
	d.Missing = p.missing(&d)
	return d
}

// offer has the roles that give one verb, by their indices, plus 1: in a table, for any name, and for everything.
type offer struct {
	once        sync.Once
	table       *table
	some, every []int32
}

// offer returns the roles that give a verb. It is built at the first denial, so that a flood of denials costs a walk
// through a tree each, and not a look at each role.
func (p *Policy) offer(v Verb) *offer {
	o := &p.offers[v-Lock]
	o.once.Do(func() {
		o.table = newTable()
		for i, r := range p.roles {
			id := int32(i) + 1
			o.table.add(r, bit(v), id)
			alone := &Rights{roles: []*role{r}}
			if alone.Some(v) {
				o.some = append(o.some, id)
			}
			if alone.Everything(v) {
				o.every = append(o.every, id)
			}
		}
	})
	return o
}

// missing returns the first roles that would allow what is denied.
func (p *Policy) missing(d *Decision) (names []string) {
	if bit(d.Verb) == 0 || d.Space != "" && !isSpace(d.Space) {
		return nil
	}
	var found search
	offer := p.offer(d.Verb)
	ids := offer.every
	switch {
	case d.Some && d.Space == "":
		ids = offer.some
	case d.Some:
		found.collect(offer.table.spaces, []byte(d.Space))
		ids = found.collected()
	case d.Space == "" && d.Name == "":
	case d.Name == "":
		found.collect(offer.table.wholes, []byte(d.Space))
		ids = found.collected()
	case d.Space != "":
		found.collect(offer.table.names, []byte(d.Space+"/"+d.Name))
		ids = found.collected()
	default:
		return nil // a name without a space
	}
	for _, id := range ids[:min(len(ids), MaxMissing)] {
		names = append(names, p.roles[id-1].name)
	}
	return names
}

// of decides by some rights.
func (d *Decision) of(r *Rights) bool {
	switch {
	case d.Some && d.Space == "":
		return r.Some(d.Verb)
	case d.Some:
		return r.SomeIn(d.Verb, d.Space)
	case d.Space == "" && d.Name == "":
		return r.Everything(d.Verb)
	case d.Name == "":
		return r.Whole(d.Verb, d.Space)
	}
	return r.May(d.Verb, d.Space, d.Name)
}

// allowing finds the first grant and the first rule that allow what the decision is about.
func (p *Policy) allowing(s Subject, d *Decision) {
	for _, g := range p.grants {
		to, matches := s.matching(g.to)
		if !matches || !d.of(&Rights{roles: []*role{p.roles[g.role]}}) {
			continue
		}
		r := p.roles[g.role]
		for _, rule := range r.rules {
			for _, names := range rule.Names {
				alone := Rule{rule.Line, rule.Space, []string{names}, rule.Verbs}
				if !d.of(&Rights{roles: []*role{{rules: []Rule{alone}}}}) {
					continue
				}
				d.Role, d.RoleLine, d.To, d.ToLine, d.Rule, d.Names = r.name, r.line, to, g.line, rule, names
				return
			}
		}
	}
}

// matching returns the first of some patterns that matches one of the subject's names.
func (s Subject) matching(patterns []string) (string, bool) {
	for _, pattern := range patterns {
		t := &tree{crosses: true}
		t.add(subjectSteps(pattern), false, every, 1)
		var found search
		if s.collect(&found, t); found.found > 0 {
			return pattern, true
		}
	}
	return "", false
}

// String returns the decision as a sentence.
func (d Decision) String() string {
	has := "lacks"
	if d.Allowed {
		has = "has"
	}
	return fmt.Sprintf("%s %s the verb %v for %s: %s", oneLine(d.Subject), has, d.Verb, d.target(), d.Reason())
}

// target names what the decision is about.
func (d Decision) target() string {
	switch {
	case d.Some && d.Space == "":
		return "any name"
	case d.Some:
		return "any name in space " + oneLine(d.Space)
	case d.Space == "" && d.Name == "":
		return "the whole cluster"
	case d.Name == "":
		return "the whole of space " + oneLine(d.Space)
	}
	return fmt.Sprintf("%q in space %s", d.Name, oneLine(d.Space))
}

// Reason returns why the decision is as it is, as the part of a sentence after a colon.
func (d Decision) Reason() string {
	switch {
	case d.Policy == "none":
		return "access is not controlled (--access none)"
	case d.Policy == "default" && d.Allowed:
		return "there is no access file"
	case d.Policy == "default":
		return fmt.Sprintf("without an access file %v is for members and callers on this machine; grant it in a file, and give that with --access FILE", d.Verb)
	case d.Allowed:
		return fmt.Sprintf("role %s (line %d), granted to %s in line %d, has a rule for the names %s in space %s (line %d)",
			d.Role, d.RoleLine, quote(d.To), d.ToLine, quote(d.Names), quote(d.Rule.Space), d.Rule.Line)
	}
	its := "it has no role"
	if len(d.Roles) > 0 {
		its = "it has " + plural("role", d.Roles) + ", which does not give that"
		if len(d.Roles) > 1 {
			its = "it has " + plural("role", d.Roles) + ", of which none gives that"
		}
	}
	if len(d.Missing) == 0 {
		return its + ", and no role of the access file does"
	}
	if len(d.Missing) == 1 {
		return its + "; it needs role " + d.Missing[0]
	}
	return its + "; it needs one of the roles " + strings.Join(d.Missing, ", ")
}

// plural returns "role a", or "roles a, b", and leaves out what is too much to read.
func plural(noun string, names []string) string {
	if len(names) == 1 {
		return noun + " " + names[0]
	}
	if most := 2 * MaxMissing; len(names) > most {
		return fmt.Sprintf("%ss %s and %d more", noun, strings.Join(names[:most], ", "), len(names)-most)
	}
	return noun + "s " + strings.Join(names, ", ")
}

// Granted is a grant that applies to a subject.
type Granted struct {
	Line     int
	Role     string
	RoleLine int
	To       string // the pattern that matches the subject
	Rules    []Rule
}

// Applied returns the grants that apply to a subject, in the order of the file, with the rules of their roles. It is
// empty for a policy without a file.
func (p *Policy) Applied(s Subject) (all []Granted) {
	for _, g := range p.grants {
		if to, matches := s.matching(g.to); matches {
			r := p.roles[g.role]
			all = append(all, Granted{g.line, r.name, r.line, to, r.rules})
		}
	}
	return all
}
