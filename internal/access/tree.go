package access

import (
	"bytes"
	"slices"
	"strings"
)

// tree is a prefix tree of patterns, each with verbs or a number. It is not changed while it is searched. "*" does not
// match "/", unless crosses is set.
//
// A search follows the literal steps byte by byte, so that patterns without "*" cost nothing that the text does not
// begin with. A "*" can end at many places of a text, and a tree has many of them, so each is tried from each place at
// most once for each part of the text: without that, "*a*a*a*a" would take the fourth power of the text's length.
type tree struct {
	root    node
	crosses bool
	stars   int32
}

// node is a place in a tree: the patterns that begin with the steps to it.
type node struct {
	label  string  // the bytes that lead here from the node above; "" for a star, a deep step, the root
	firsts string  // the first byte of the label of each of next
	next   []*node // the literal steps
	star   *node
	deep   *node
	number int32 // of a star or a deep step, from 1 on
	end    leaf  // the patterns that end here
	below  leaf  // the patterns that end here or go on with any parts
	union  verbs // of all patterns that come this way
}

// leaf has the verbs and the ids of patterns.
type leaf struct {
	verbs verbs
	ids   []int32
}

// add adds a pattern with its verbs. An id other than 0 is added to what [search.collect] finds.
func (t *tree) add(steps []step, below bool, granted verbs, id int32) {
	n := &t.root
	n.union |= granted
	for _, s := range steps {
		switch s.kind {
		case literal:
			n = n.literally(s.text, granted)
		case star:
			n = t.numbered(&n.star)
		case deep:
			n = t.numbered(&n.deep)
		}
		n.union |= granted
	}
	l := &n.end
	if below {
		l = &n.below
	}
	l.verbs |= granted
	if id != 0 {
		l.ids = append(l.ids, id)
	}
}

// numbered returns the node of a star or a deep step, which is made where there is none yet.
func (t *tree) numbered(n **node) *node {
	if *n == nil {
		t.stars++
		*n = &node{number: t.stars}
	}
	return *n
}

// literally returns the node that text leads to. It splits labels where text leaves them.
func (n *node) literally(text string, granted verbs) *node {
	for text != "" {
		i := strings.IndexByte(n.firsts, text[0])
		if i < 0 {
			child := &node{label: text}
			n.firsts, n.next = n.firsts+text[:1], append(n.next, child)
			return child
		}
		child, shared := n.next[i], 1
		for shared < len(text) && shared < len(child.label) && text[shared] == child.label[shared] {
			shared++
		}
		if shared < len(child.label) {
			lower := child
			child = &node{label: lower.label[:shared], firsts: lower.label[shared : shared+1], next: []*node{lower}, union: lower.union}
			lower.label, n.next[i] = lower.label[shared:], child
		}
		child.union |= granted
		n, text = child, text[shared:]
	}
	return n
}

// search is a search of a tree. The text is not a part of it: what a search points to is on the heap, and the text of a
// question is not.
type search struct {
	tree   *tree
	want   verbs
	prefix bool // a text that begins with this one will do
	all    bool // do not end with the first pattern found: the ids of all are wanted
	ids    [32]int32
	found  int
	others []int32 // the ids beyond

	// The stars that were tried, with the end of the part that they were tried in. Those of a star come in the order of
	// the text, so that the last one is enough.
	tried [8]tried
	count int
	more  map[int32]int // those beyond
}

type tried struct {
	number int32
	end    int
}

// matches reports whether a pattern with one of the verbs matches text. Most texts are allowed by a pattern without
// "*", or by all that is below one: those are found without a look at the nodes of stars, which are seldom in a cache of
// the processor.
func (t *tree) matches(text []byte, want verbs) bool {
	if t.root.plain(text, want) {
		return true
	}
	s := search{tree: t, want: want}
	return s.at(&t.root, text, 0)
}

// plain reports whether a pattern of literal steps alone has one of the verbs for text.
func (n *node) plain(text []byte, want verbs) bool {
	for n.union&want != 0 {
		if len(text) == 0 {
			return (n.end.verbs|n.below.verbs)&want != 0
		}
		if text[0] == '/' && n.below.verbs&want != 0 {
			return true
		}
		k := strings.IndexByte(n.firsts, text[0])
		if k < 0 {
			return false
		}
		if n = n.next[k]; len(text) < len(n.label) || string(text[:len(n.label)]) != n.label {
			return false
		}
		text = text[len(n.label):]
	}
	return false
}

// leads reports whether a pattern with one of the verbs matches text or a continuation of it.
func (t *tree) leads(text []byte, want verbs) bool {
	s := search{tree: t, want: want, prefix: true}
	return s.at(&t.root, text, 0)
}

// collect adds the ids of all patterns of a tree that match text.
func (s *search) collect(t *tree, text []byte) {
	s.tree, s.want, s.all = t, every, true
	s.count, s.more = 0, nil
	s.at(&t.root, text, 0)
}

// collected returns the ids, sorted, each once.
func (s *search) collected() []int32 {
	ids := s.ids[:s.found]
	if len(s.others) > 0 {
		ids = append(s.others, ids...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// at searches from a node on, which the first i bytes of the text have led to.
func (s *search) at(n *node, text []byte, i int) bool {
	for n.union&s.want != 0 {
		if s.ends(n, text, i) {
			return true
		}
		if n.star != nil && s.star(n.star, text, i) || n.deep != nil && s.deep(n.deep, text, i) {
			return true
		}
		if i == len(text) {
			return false
		}
		k := strings.IndexByte(n.firsts, text[i])
		if k < 0 {
			return false
		}
		n = n.next[k]
		rest := text[i:]
		if len(rest) < len(n.label) {
			return s.prefix && n.label[:len(rest)] == string(rest) && n.union&s.want != 0
		}
		if string(rest[:len(n.label)]) != n.label {
			return false
		}
		i += len(n.label)
	}
	return false
}

// ends reports whether the search ends at a node: a pattern that ends there is wanted.
func (s *search) ends(n *node, text []byte, i int) bool {
	atEnd := i == len(text)
	switch {
	case atEnd && s.prefix:
		return true
	case atEnd && n.end.verbs&s.want != 0 && s.take(&n.end):
		return true
	}
	return n.below.verbs&s.want != 0 && (atEnd || text[i] == '/') && s.take(&n.below)
}

// take collects the ids of a leaf, or ends the search.
func (s *search) take(l *leaf) bool {
	if !s.all {
		return true
	}
	k := copy(s.ids[s.found:], l.ids)
	s.found += k
	s.others = append(s.others, l.ids[k:]...)
	return false
}

// star searches from a star on that begins at i: it may end anywhere up to the end of the part.
func (s *search) star(n *node, text []byte, i int) bool {
	if n.union&s.want == 0 {
		return false
	}
	end := len(text)
	if !s.tree.crosses {
		if k := bytes.IndexByte(text[i:], '/'); k >= 0 {
			end = i + k
		}
	}
	if !s.first(n.number, end) {
		return false
	}
	for ; i < end && n.firsts != ""; i++ {
		if len(n.firsts) == 1 {
			k := bytes.IndexByte(text[i:end], n.firsts[0])
			if k < 0 {
				break
			}
			i += k
		}
		if strings.IndexByte(n.firsts, text[i]) >= 0 && s.at(n, text, i) {
			return true
		}
	}
	return s.at(n, text, end)
}

// deep searches from a deep step on that begins at i, where a part begins: it may end where any part begins.
func (s *search) deep(n *node, text []byte, i int) bool {
	if n.union&s.want == 0 || !s.first(n.number, len(text)) {
		return false
	}
	for {
		if s.at(n, text, i) {
			return true
		}
		k := bytes.IndexByte(text[i:], '/')
		if k < 0 {
			return s.prefix
		}
		i += k + 1
	}
}

// first reports whether a star was not tried before up to end.
func (s *search) first(number int32, end int) bool {
	for k := range s.tried[:s.count] {
		if t := &s.tried[k]; t.number == number {
			before := t.end
			t.end = end
			return before != end
		}
	}
	if s.count < len(s.tried) {
		s.tried[s.count] = tried{number, end}
		s.count++
		return true
	}
	if before, known := s.more[number]; known && before == end {
		return false
	}
	if s.more == nil {
		s.more = map[int32]int{}
	}
	s.more[number] = end
	return true
}
