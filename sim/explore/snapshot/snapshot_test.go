package snapshot

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// node is a type with every construct that machines use.
type node struct {
	name    string
	number  uint64
	at      time.Duration
	Kind    uint8 // exported, and of eight bits: content, not a number
	next    *node
	same    *node
	inner   part
	into    *part // into inner, of this node or another one
	parts   []part
	pick    *part // into parts
	table   map[uint64]*node
	by      map[key]part
	any     any
	err     error
	long    [40]part
	nothing func()
}

type part struct {
	value int
	until time.Duration
	owner *node
}

type key struct {
	name   string
	number uint32
}

var errSentinel = errors.New("a sentinel")

// grow makes a random graph.
func grow(r *rand.Rand) *node {
	all := make([]*node, 2+r.IntN(6))
	for i := range all {
		all[i] = &node{
			name: string(rune('a' + r.IntN(26))), number: r.Uint64N(9), at: time.Duration(r.IntN(9)) * time.Second,
			parts: make([]part, r.IntN(4)), table: map[uint64]*node{}, by: map[key]part{}, err: errSentinel,
		}
	}
	some := func() *node { return all[r.IntN(len(all))] }
	for _, n := range all {
		n.next, n.same, n.into, n.inner.owner = some(), some(), &some().inner, some()
		for i := range n.parts {
			n.parts[i] = part{value: r.IntN(9), owner: some()}
		}
		if len(n.parts) > 0 {
			n.pick = &n.parts[r.IntN(len(n.parts))]
		}
		for range r.IntN(5) {
			n.table[r.Uint64N(99)] = some()
			n.by[key{some().name, r.Uint32N(9)}] = part{value: r.IntN(9)}
		}
		n.long[r.IntN(len(n.long))].value = r.IntN(9)
		n.any = []any{nil, 7, "text", some(), part{value: 3, owner: some()}, &some().inner}[r.IntN(6)]
		if held, is := n.any.(part); is {
			n.any = &held
		}
	}
	return all[0]
}

// change changes a value that is reachable from a node.
func change(r *rand.Rand, n *node) {
	for range r.IntN(4) {
		n = n.next
	}
	switch r.IntN(6) {
	case 0:
		n.into.value += 100
	case 1:
		n.same.number += 100
	case 2:
		n.parts = append(n.parts, part{value: 100})
	case 3:
		n.table[100+r.Uint64N(99)] = n
	case 4:
		n.long[r.IntN(len(n.long))].until += time.Hour
	case 5:
		n.by[key{"changed", 100}] = part{value: 1}
	}
}

// without is a Copier without rules.
func without(t *testing.T) *Copier {
	t.Helper()
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func form(t *testing.T, c *Copier, n *node) Form {
	t.Helper()
	f, err := c.Form(n, 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func copied(t *testing.T, c *Copier, n *node) *node {
	t.Helper()
	fresh, err := Copy(c, n)
	if err != nil {
		t.Fatal(err)
	}
	return fresh
}

// TestCopiesAreApart copies graphs, and makes the same change in the copy and the original: they are equal before,
// differ after the first change, and are equal again after the second.
func TestCopiesAreApart(t *testing.T) {
	c, other := without(t), without(t)
	for seed := range uint64(500) {
		original := grow(rand.New(rand.NewPCG(seed, 1)))
		before := form(t, c, original)
		fresh := copied(t, c, original)
		if !reflect.DeepEqual(form(t, other, fresh), before) {
			t.Fatalf("seed %d: the copy is not like the original", seed)
		}
		change(rand.New(rand.NewPCG(seed, 2)), fresh)
		if !reflect.DeepEqual(form(t, c, original), before) {
			t.Fatalf("seed %d: the original has changed with its copy", seed)
		}
		if reflect.DeepEqual(form(t, c, fresh), before) {
			t.Fatalf("seed %d: the form does not show a change", seed)
		}
		change(rand.New(rand.NewPCG(seed, 2)), original)
		if !reflect.DeepEqual(form(t, c, original), form(t, c, fresh)) {
			t.Fatalf("seed %d: what was done to both shows in one", seed)
		}
	}
}

// TestPointersIntoObjects checks that a pointer into an object points into its copy, also if the walk meets the object
// itself later.
func TestPointersIntoObjects(t *testing.T) {
	type first struct {
		into *part
		node *node
	}
	n := &node{parts: make([]part, 3)}
	n.pick = &n.parts[1]
	fresh, err := Copy(without(t), &first{&n.inner, n})
	if err != nil {
		t.Fatal(err)
	}
	if fresh.into != &fresh.node.inner || fresh.node == n {
		t.Error("a pointer to a field does not point into the copy")
	}
	if fresh.node.pick != &fresh.node.parts[1] {
		t.Error("a pointer to an element does not point into the copy")
	}
}

// TestFormsTellAliases checks that two graphs with equal content differ if one of them has an object twice.
func TestFormsTellAliases(t *testing.T) {
	one, two, c := &node{}, &node{}, without(t)
	shared := &node{name: "x"}
	one.next, one.same = shared, shared
	two.next, two.same = shared, &node{name: "x"}
	if form(t, c, one).Shape == form(t, c, two).Shape {
		t.Error("an object that is there twice is like one that is there once")
	}
	one, two = &node{}, &node{}
	one.into, two.into = &one.inner, &part{}
	if form(t, c, one).Shape == form(t, c, two).Shape {
		t.Error("a pointer into the object is like one to another")
	}
}

// TestNumbersAreApart checks that a shape records which numbers are equal and which is greater, and no more.
func TestNumbersAreApart(t *testing.T) {
	c := without(t)
	small := form(t, c, &node{number: 1, at: 5, parts: []part{{value: 2}, {value: 1}}})
	large := form(t, c, &node{number: 70, at: 50, parts: []part{{value: 800}, {value: 70}}})
	turned := form(t, c, &node{number: 70, at: 50, parts: []part{{value: 60}, {value: 70}}})
	if small.Shape != large.Shape {
		t.Error("numbers in one order are of two shapes")
	}
	if large.Shape == turned.Shape {
		t.Error("numbers in another order are of one shape")
	}
	if !slices.Contains(large.Numbers, Number{Value: 800}) || !slices.Contains(large.Times, 50) || slices.Contains(large.Times, 70) {
		t.Errorf("numbers %v, times %v", large.Numbers, large.Times)
	}
}

// TestErrorsAreShared checks that a sentinel error keeps its identity in a copy.
func TestErrorsAreShared(t *testing.T) {
	if fresh := copied(t, without(t), &node{err: errSentinel}); !errors.Is(fresh.err, errSentinel) {
		t.Error("the sentinel is another one")
	}
}

// TestWhatCannotBeCopied checks that the error names the path and the type.
func TestWhatCannotBeCopied(t *testing.T) {
	n := &node{next: &node{any: &node{nothing: func() {}}}}
	_, err := Copy(without(t), n)
	if err == nil || !strings.Contains(err.Error(), ".next.any") && !strings.Contains(err.Error(), "nothing: a func() cannot be copied") {
		t.Errorf("copying a function: %v", err)
	}
	if _, err := without(t).Form(n, 0); err == nil || !strings.Contains(err.Error(), "a func() has no form") {
		t.Errorf("the form of a function: %v", err)
	}
	if _, err := without(t).Form(&struct{ m map[*node]int }{map[*node]int{n: 1}}, 0); err == nil || !strings.Contains(err.Error(), "have no order") {
		t.Errorf("the form of a map by pointers: %v", err)
	}
	if _, err := without(t).Form(7, 0); err == nil {
		t.Error("a number that nothing points to has a form")
	}
}

// FuzzCopy is TestCopiesAreApart for any seed.
func FuzzCopy(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		c := without(t)
		original := grow(rand.New(rand.NewPCG(a, b)))
		before := form(t, c, original)
		fresh := copied(t, c, original)
		change(rand.New(rand.NewPCG(b, a)), fresh)
		if !reflect.DeepEqual(form(t, c, original), before) {
			t.Fatal("the original has changed with its copy")
		}
		change(rand.New(rand.NewPCG(b, a)), original)
		if !reflect.DeepEqual(form(t, without(t), original), form(t, c, fresh)) {
			t.Fatal("what was done to both shows in one")
		}
	})
}
