package access

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"sync"
)

// Policy says what each subject may do. It does not change, apart from what it remembers of its own answers, and is safe
// for concurrent use.
type Policy struct {
	digest  string
	builtin *builtin // nil for a policy of a file

	roles      []*role // in the order of the file
	grants     []grant
	quotas     []quota
	issuers    []Issuer
	assertions []assertion

	granted *tree // of the patterns of subjects; an id is the index of a role, plus 1
	quoted  *tree // an id is the index of a quota, plus 1

	rights cache
	offers [Admin]offer // by verb
}

// role is a role of a file.
type role struct {
	name  string
	line  int
	rules []Rule

	once  sync.Once
	table *table // built at its first use
}

// Rule is one rule of a role.
type Rule struct {
	Line  int
	Space string   // a pattern
	Names []string // patterns, at least one
	Verbs []Verb   // at least one
}

// grant gives a role to subjects.
type grant struct {
	line int
	role int // index
	to   []string
}

// Issuer is an issuer of JWTs that the policy accepts.
type Issuer struct {
	Line     int
	URL      string // as in the claim iss
	Audience string // required in the claim aud
	JWKS     string // URL or file with its keys; "" is the discovery of OIDC
	Groups   string // the claim with the groups; "" is none
}

// builtin is a policy without a file.
type builtin struct{ near, remote *Rights }

// Default returns the policy of a member without an access file: every subject has lock and read for everything, and a
// subject that is near (see [Subject]) has all verbs.
func Default() *Policy {
	return &Policy{digest: "default", builtin: &builtin{&Rights{always: every}, &Rights{always: set(Lock, Read)}}}
}

// Open returns the policy of --access none: every subject has all verbs for everything.
func Open() *Policy {
	all := &Rights{always: every}
	return &Policy{digest: "none", builtin: &builtin{all, all}}
}

// Digest returns a short text that is the same for policies of the same meaning. Comments, the order of keys, and the way
// in which rules and grants are split do not change it. It is "default" and "none" for [Default] and [Open].
func (p *Policy) Digest() string { return p.digest }

// Issuers returns the issuers of JWTs, in the order of the file.
func (p *Policy) Issuers() []Issuer { return slices.Clone(p.issuers) }

// digestBytes is the length of a digest before it is written in hexadecimal digits.
const digestBytes = 6

// meaning is what a digest is made of. Its lists are sorted unless their order means something.
type meaning struct {
	Roles   []meantRole
	Grants  [][2]string // subject, role
	Quotas  []meantQuota
	Issuers [][4]string
}

type meantRole struct {
	Name  string
	Rules []meantRule
}

type meantRule struct {
	Space, Name string
	Verbs       verbs
}

type meantQuota struct {
	To []string
	Quota
}

// digestOf returns the digest of a policy that is complete otherwise.
func digestOf(p *Policy) (string, error) {
	var m meaning
	for _, r := range p.roles {
		m.Roles = append(m.Roles, meantRole{r.name, meantRules(r.rules)})
	}
	slices.SortFunc(m.Roles, func(a, b meantRole) int { return cmp.Compare(a.Name, b.Name) })
	for _, g := range p.grants {
		for _, to := range g.to {
			m.Grants = append(m.Grants, [2]string{squeeze(to), p.roles[g.role].name})
		}
	}
	m.Grants = sorted(m.Grants, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	for _, q := range p.quotas {
		var to []string
		for _, pattern := range q.to {
			to = append(to, squeeze(pattern))
		}
		m.Quotas = append(m.Quotas, meantQuota{sorted(to, cmp.Compare), q.Quota})
	}
	for _, i := range p.issuers {
		m.Issuers = append(m.Issuers, [4]string{i.URL, i.Audience, i.JWKS, i.Groups})
	}
	m.Issuers = sorted(m.Issuers, func(a, b [4]string) int { return slices.Compare(a[:], b[:]) })
	text, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:digestBytes]), nil
}

// meantRules returns one rule for each pair of patterns, with all its verbs.
func meantRules(rules []Rule) (meant []meantRule) {
	all := map[[2]string]verbs{}
	for _, r := range rules {
		for _, names := range r.Names {
			all[[2]string{squeeze(r.Space), squeezeName(names)}] |= set(r.Verbs...)
		}
	}
	for patterns, granted := range all {
		meant = append(meant, meantRule{patterns[0], patterns[1], granted})
	}
	slices.SortFunc(meant, func(a, b meantRule) int {
		return cmp.Or(cmp.Compare(a.Space, b.Space), cmp.Compare(a.Name, b.Name))
	})
	return meant
}

// sorted returns a sorted list without duplicates.
func sorted[T comparable](all []T, compare func(a, b T) int) []T {
	slices.SortFunc(all, compare)
	return slices.Compact(all)
}
