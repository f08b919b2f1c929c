package wire

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"sync"
)

// Kind is the number of a message type. Numbers are part of the format: they are never reused for another type of the
// same table.
type Kind uint16

// Type is a message type. Messages are sent as values.
type Type struct {
	// Kind is its number.
	Kind Kind
	// Zero is the zero value of the type.
	Zero any
	// Bodies are the types that a message of this type can carry; nil if it carries none.
	Bodies []Type

	key  uintptr                                        // typeKey of Zero
	code func(c *Coder, m any) (taken any)              // of a body
	add  func(b []byte, m any) ([]byte, error)          // appends it after its number
	take func(b []byte) (m any, rest []byte, err error) // reads it, after its number
}

// job is a message being coded, with its Coder. It is reused to save an allocation for each message.
type job[T any] struct {
	Coder
	value T
}

// Message returns the Type of T with that number. Bodies are the types that it can carry.
func Message[T any, P coded[T]](k Kind, bodies ...Type) Type {
	var zero T
	jobs := &sync.Pool{New: func() any { return new(job[T]) }}
	done := func(j *job[T]) {
		j.Coder, j.value = Coder{leasts: j.leasts}, zero
		jobs.Put(j)
	}
	return Type{
		Kind: k, Zero: zero, Bodies: bodies, key: typeKey(zero),
		code: func(c *Coder, m any) (taken any) {
			j := jobs.Get().(*job[T])
			if c.writing {
				j.value = m.(T)
			}
			if P(&j.value).Code(c); !c.writing {
				taken = j.value
			}
			done(j)
			return taken
		},
		add: func(b []byte, m any) ([]byte, error) {
			j := jobs.Get().(*job[T])
			j.b, j.writing, j.value = b, true, m.(T)
			P(&j.value).Code(&j.Coder)
			grown, err := j.b, j.err
			done(j)
			return grown, err
		},
		take: func(b []byte) (m any, rest []byte, err error) {
			j := jobs.Get().(*job[T])
			j.b = b
			P(&j.value).Code(&j.Coder)
			m, rest, err = j.value, b[j.at:], j.err
			done(j)
			return m, rest, err
		},
	}
}

// Table is a set of message types, by number and by Go type.
type Table struct {
	types  []Type
	byKind []*Type
	byType map[uintptr]*Type // the key is what typeKey returns
}

// typeKey returns the address of a value's type descriptor, which is a faster key than the type.
func typeKey(value any) uintptr {
	if value == nil {
		return 0
	}
	return reflect.ValueOf(reflect.TypeOf(value)).Pointer()
}

// NewTable returns a table of several lists of types. The same type with the same number may be in several of them. It
// panics if two types have one number, or one type has two.
func NewTable(lists ...[]Type) *Table {
	t := &Table{byType: map[uintptr]*Type{}}
	for _, list := range lists {
		for _, added := range list {
			t.add(added)
		}
	}
	for i := range t.types {
		t.byKind[t.types[i].Kind] = &t.types[i]
		t.byType[t.types[i].key] = &t.types[i]
		NewTable(t.types[i].Bodies) // panics on a conflict
	}
	return t
}

func (t *Table) add(added Type) {
	for int(added.Kind) >= len(t.byKind) {
		t.byKind = append(t.byKind, nil)
	}
	for i := range t.types {
		known := &t.types[i]
		sameType := reflect.TypeOf(known.Zero) == reflect.TypeOf(added.Zero)
		switch {
		case sameType && known.Kind == added.Kind:
			return
		case sameType:
			panic(fmt.Sprintf("wire: messages of type %T have the numbers %d and %d; give them one", added.Zero, known.Kind, added.Kind))
		case known.Kind == added.Kind:
			panic(fmt.Sprintf("wire: messages of the types %T and %T have the number %d; give one of them another", known.Zero, added.Zero, added.Kind))
		}
	}
	t.types = append(t.types, added)
}

// Types returns the types, in the given order.
func (t *Table) Types() []Type { return t.types }

// Values returns a value of each type of the lists, and of their bodies.
func Values(lists ...[]Type) (all []any) {
	for _, list := range lists {
		for _, t := range list {
			all = append(all, t.Zero)
			all = append(all, Values(t.Bodies)...)
		}
	}
	return all
}

// Append appends a message to b: the number of its type, and its fields. The error says what cannot be encoded; then b
// is returned unchanged.
func (t *Table) Append(b []byte, m any) ([]byte, error) {
	known := t.byType[typeKey(m)]
	if known == nil {
		return b, fmt.Errorf("encode %T: %w", m, ErrKind)
	}
	grown, err := known.add(binary.AppendUvarint(b, uint64(known.Kind)), m)
	if err != nil {
		return b, fmt.Errorf("encode %T: %w", m, err)
	}
	return grown, nil
}

// Take reads the first message of b, and returns the rest. The error says what is wrong with the bytes.
func (t *Table) Take(b []byte) (m any, rest []byte, err error) {
	c := Coder{b: b}
	var kind Kind
	Number(&c, &kind)
	known := t.ofKind(kind)
	switch {
	case c.err != nil:
		err = c.err
	case known == nil:
		err = ErrKind
	default:
		m, rest, err = known.take(b[c.at:])
	}
	if err != nil {
		return nil, nil, fmt.Errorf("decode a message of type %d: %w", kind, err)
	}
	return m, rest, nil
}

func (t *Table) ofKind(k Kind) *Type {
	if int(k) >= len(t.byKind) {
		return nil
	}
	return t.byKind[k]
}

// Body codes a message's body, which has one of these types. Their values must be of type B.
func Body[B any](c *Coder, v *B, types []Type) {
	var kind Kind
	i := -1
	if c.writing {
		key := typeKey(*v)
		if i = slices.IndexFunc(types, func(t Type) bool { return t.key == key }); i >= 0 {
			kind = types[i].Kind
		}
	}
	if Number(c, &kind); !c.writing {
		i = slices.IndexFunc(types, func(t Type) bool { return t.Kind == kind })
	}
	switch {
	case c.err != nil:
	case i < 0:
		c.Fail(ErrKind)
	case c.writing:
		types[i].code(c, *v)
	default:
		body, is := types[i].code(c, nil).(B)
		if !is {
			c.Fail(ErrKind)
		}
		*v = body
	}
}
