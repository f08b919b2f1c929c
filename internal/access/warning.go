package access

import (
	"fmt"
	"slices"
)

// Warnings returns what is no fault of a file and yet likely not meant: roles that no grant gives, verbs for operators
// that no grant gives, and quotas after one for every subject.
func (p *Policy) Warnings() (all []Fault) {
	if p.builtin != nil {
		return nil
	}
	var given verbs
	granted := make([]bool, len(p.roles))
	for _, g := range p.grants {
		granted[g.role] = true
	}
	for i, r := range p.roles {
		if !granted[i] {
			all = append(all, Fault{r.line, "roles." + r.name, "no grant gives this role to a subject", "grant it, or remove it"})
			continue
		}
		for _, rule := range r.rules {
			given |= set(rule.Verbs...)
		}
	}
	for _, v := range []Verb{Break, Operate, Admin} {
		if given&bit(v) == 0 {
			all = append(all, Fault{0, "", fmt.Sprintf("no grant gives the verb %v, so no subject can use it", v), "give it to operators"})
		}
	}
	for i, q := range p.quotas {
		if !slices.ContainsFunc(q.to, func(to string) bool { return squeeze(to) == "*" }) {
			continue
		}
		for k, later := range p.quotas[i+1:] {
			all = append(all, Fault{later.line, fmt.Sprintf("quotas[%d]", i+1+k),
				fmt.Sprintf(`it is never used, because the entry in line %d is for "*" and comes first`, q.line), "write it before that entry"})
		}
		break
	}
	return all
}
