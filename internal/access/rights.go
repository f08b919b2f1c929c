package access

import (
	"encoding/binary"
	"strings"
	"sync"
)

// Rights is what one set of roles gives. It is safe for concurrent use. A nil Rights gives nothing.
type Rights struct {
	always verbs // for everything, by a policy without a file
	roles  []*role
	merged bool // one table for all roles

	once   sync.Once
	tables []*table // built at the first question
}

// table has the rules of a role, or of several.
type table struct {
	names  *tree // of texts of the form SPACE/NAME
	spaces *tree // of spaces with any rule
	wholes *tree // of spaces with a rule for all names
	every  verbs // for all names of all spaces
}

func newTable() *table {
	return &table{names: &tree{}, spaces: &tree{crosses: true}, wholes: &tree{crosses: true}}
}

// add adds the rules of a role that have some of the verbs, with an id for [search.collect].
func (t *table) add(r *role, some verbs, id int32) {
	for _, rule := range r.rules {
		granted := set(rule.Verbs...) & some
		if granted == 0 {
			continue
		}
		space := squeeze(rule.Space)
		t.spaces.add(starSteps(nil, space), false, granted, id)
		for _, names := range rule.Names {
			steps, below := nameSteps(space, names)
			t.names.add(steps, below, granted, id)
			if squeezeName(names) != "**" {
				continue
			}
			t.wholes.add(starSteps(nil, space), false, granted, id)
			if space == "*" {
				t.every |= granted
			}
		}
	}
}

// Prepare builds the tree, which otherwise the first question does: about a millisecond for 1,000 patterns. A policy that
// replaces another one under load then delays no call.
func (r *Rights) Prepare() {
	if r != nil {
		r.load()
	}
}

// load returns the tables, which it builds the first time.
func (r *Rights) load() []*table {
	r.once.Do(r.build)
	return r.tables
}

func (r *Rights) build() {
	if r.merged {
		all := newTable()
		for _, role := range r.roles {
			all.add(role, every, 0)
		}
		r.tables = []*table{all}
		return
	}
	for _, role := range r.roles {
		r.tables = append(r.tables, role.load())
	}
}

// load returns the table of one role, which it builds the first time.
func (r *role) load() *table {
	r.once.Do(func() {
		r.table = newTable()
		r.table.add(r, every, 0)
	})
	return r.table
}

// weight returns the number of patterns of names.
func (r *role) weight() (n int) {
	for _, rule := range r.rules {
		n += len(rule.Names)
	}
	return n
}

// textBytes is the length up to which the text of a question is on the stack: a space, "/" and a name.
const textBytes = 64 + 1 + 512

// May reports whether the rights have a verb for a name in a space. The space and the name are taken as they are, not as
// patterns. It is false without a name: [Rights.Whole], [Rights.SomeIn] and [Rights.Some] are for calls without one. It
// allocates nothing.
func (r *Rights) May(v Verb, space, name string) bool {
	if r == nil || name == "" || !isSpace(space) {
		return false
	}
	if r.always&bit(v) != 0 {
		return true
	}
	var buffer [textBytes]byte
	text := append(append(append(buffer[:0], space...), '/'), name...)
	for _, t := range r.load() {
		if t.names.matches(text, bit(v)) {
			return true
		}
	}
	return false
}

// Prefix reports whether the rights have a verb for any name in a space that begins with prefix, so that a listing can
// leave out what no answer of [Rights.May] would show. An empty prefix is that of all names.
func (r *Rights) Prefix(v Verb, space, prefix string) bool {
	if r == nil || !isSpace(space) {
		return false
	}
	if r.always&bit(v) != 0 {
		return true
	}
	var buffer [textBytes]byte
	text := append(append(append(buffer[:0], space...), '/'), prefix...)
	for _, t := range r.load() {
		if t.names.leads(text, bit(v)) {
			return true
		}
	}
	return false
}

// Whole reports whether the rights have a verb for a space as a whole: by a rule with the names "**". Several rules that
// have all names together do not count.
func (r *Rights) Whole(v Verb, space string) bool {
	return r.inSpace(v, space, true)
}

// SomeIn reports whether the rights have a verb for any name in a space.
func (r *Rights) SomeIn(v Verb, space string) bool {
	return r.inSpace(v, space, false)
}

func (r *Rights) inSpace(v Verb, space string, whole bool) bool {
	if r == nil || !isSpace(space) {
		return false
	}
	if r.always&bit(v) != 0 {
		return true
	}
	var buffer [textBytes]byte
	text := append(buffer[:0], space...)
	for _, t := range r.load() {
		patterns := t.spaces
		if whole {
			patterns = t.wholes
		}
		if patterns.matches(text, bit(v)) {
			return true
		}
	}
	return false
}

// Everything reports whether the rights have a verb for the whole cluster: by a rule with the space "*" and the names
// "**".
func (r *Rights) Everything(v Verb) bool {
	if r == nil || r.always&bit(v) != 0 {
		return r != nil
	}
	for _, t := range r.load() {
		if t.every&bit(v) != 0 {
			return true
		}
	}
	return false
}

// Some reports whether the rights have a verb for any name of any space.
func (r *Rights) Some(v Verb) bool {
	if r == nil || r.always&bit(v) != 0 {
		return r != nil
	}
	for _, t := range r.load() {
		if t.names.root.union&bit(v) != 0 {
			return true
		}
	}
	return false
}

// Roles returns the names of the roles, in the order of the file. It is empty for a policy without a file.
func (r *Rights) Roles() (names []string) {
	if r == nil {
		return nil
	}
	for _, role := range r.roles {
		names = append(names, role.name)
	}
	return names
}

// isSpace reports whether a text can be the name of a space. One with "/" could be taken for a space and a part of a
// name.
func isSpace(space string) bool { return space != "" && strings.IndexByte(space, '/') < 0 }

// The cache has one Rights for each set of roles that some subject has. It grows with the sets, not with the subjects,
// and has a bound: a set beyond it has a Rights of its own, which searches the tables of its roles one after the other.
type cache struct {
	mu     sync.RWMutex
	sets   map[string]*Rights // by the indices of the roles
	budget int                // what may still be added, in patterns
}

const (
	// setCost is what a set costs in addition to its patterns.
	setCost = 16
	// cacheLeast and cacheTimes are the budget: that many patterns, or that many times those of the file.
	cacheLeast = 1 << 16
	cacheTimes = 4
)

// Rights returns the rights of a subject: those of all roles that a grant gives to its name, or to one of its further
// names. It is as cheap as a walk through the tree of the grants, and keeps nothing of the subject.
func (p *Policy) Rights(s Subject) *Rights {
	if p.builtin != nil {
		if s.Near {
			return p.builtin.near
		}
		return p.builtin.remote
	}
	var found search
	s.collect(&found, p.granted)
	ids := found.collected()
	var keyBuffer [128]byte
	key := keyBuffer[:0]
	for _, id := range ids {
		key = binary.LittleEndian.AppendUint32(key, uint32(id))
	}
	p.rights.mu.RLock()
	known := p.rights.sets[string(key)]
	p.rights.mu.RUnlock()
	if known != nil {
		return known
	}
	r := &Rights{}
	weight := setCost
	for _, id := range ids {
		role := p.roles[id-1]
		r.roles = append(r.roles, role)
		weight += role.weight()
	}
	return p.rights.add(string(key), r, weight)
}

// add adds the rights of a set, unless another goroutine has, or the budget is used up.
func (c *cache) add(key string, r *Rights, weight int) *Rights {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.sets[key]; known != nil {
		return known
	}
	if len(r.roles) == 1 {
		weight = setCost // it has the table of the role
	}
	if weight > c.budget {
		return r
	}
	c.budget -= weight
	r.merged = len(r.roles) > 1
	c.sets[key] = r
	return r
}

// collect adds the ids of all patterns of a tree that match one of the subject's names.
func (s Subject) collect(found *search, t *tree) {
	var buffer [256]byte
	found.collect(t, append(buffer[:0], s.Name...))
	for _, name := range s.Also {
		found.collect(t, append(buffer[:0], name...))
	}
}
