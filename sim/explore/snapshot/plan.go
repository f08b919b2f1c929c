package snapshot

import (
	"reflect"
	"strconv"
	"time"
	"unsafe"
)

// plan is how the values of a type are copied and written.
type plan struct {
	is   reflect.Type
	kind reflect.Kind
	size uintptr
	name string // of the type, with its package's path

	// flat reports that assigning a value copies it.
	flat bool
	// embedded reports that a known type has this one as a field or an element, so that a pointer to it may point into
	// another object.
	embedded bool
	// duration reports that values are instants or durations.
	duration bool
	// shared reports that the target never changes: an error.
	shared bool

	fields []field
	loose  []field // the fields that are not flat
	elem   *plan   // of pointers, slices, arrays, maps
	key    *plan
	length int
	moots  []moot
}

type field struct {
	name   string
	offset uintptr
	plan   *plan

	// From the type's rules.
	mayBeMoot bool
	table     bool
	class     uint8
	group     func(reflect.Value) uint64
}

// planned returns the plan of a type.
func (c *Copier) planned(t reflect.Type) *plan {
	if p := c.plans[t]; p != nil {
		return p
	}
	p := &plan{is: t, kind: t.Kind(), size: t.Size(), name: nameOf(t), duration: t == reflect.TypeFor[time.Duration]()}
	c.plans[t] = p
	switch p.kind {
	case reflect.Struct:
		p.flat = true
		for i := range t.NumField() {
			f := t.Field(i)
			part := field{name: f.Name, offset: f.Offset, plan: c.planned(f.Type)}
			c.embed(part.plan)
			p.fields = append(p.fields, part)
			if !part.plan.flat {
				p.flat = false
				p.loose = append(p.loose, part)
			}
		}
	case reflect.Array:
		p.elem, p.length = c.planned(t.Elem()), t.Len()
		c.embed(p.elem)
		p.flat = p.elem.flat
	case reflect.Slice:
		p.elem = c.planned(t.Elem())
		c.embed(p.elem)
	case reflect.Pointer:
		p.elem = c.planned(t.Elem())
	case reflect.Map:
		p.key, p.elem = c.planned(t.Key()), c.planned(t.Elem())
	case reflect.Interface:
		p.shared = t.Implements(reflect.TypeFor[error]())
		p.flat = p.shared
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
	default:
		p.flat = true
	}
	return p
}

// embed records that values of a type are parts of others.
func (c *Copier) embed(p *plan) {
	if p.embedded {
		return
	}
	p.embedded = true
	c.learned++
	if p.kind == reflect.Array {
		c.embed(p.elem)
	}
}

// nameOf returns a unique name of a type.
func nameOf(t reflect.Type) string {
	switch {
	case t.Name() != "":
		return t.PkgPath() + "." + t.Name()
	case t.Kind() == reflect.Pointer:
		return "*" + nameOf(t.Elem())
	case t.Kind() == reflect.Slice:
		return "[]" + nameOf(t.Elem())
	case t.Kind() == reflect.Array:
		return "[" + strconv.Itoa(t.Len()) + "]" + nameOf(t.Elem())
	case t.Kind() == reflect.Map:
		return "map[" + nameOf(t.Key()) + "]" + nameOf(t.Elem())
	}
	return t.String()
}

// direct reports whether an interface holds a value of this type in its own word, rather than a pointer to it.
func (p *plan) direct() bool {
	switch p.kind {
	case reflect.Pointer, reflect.Map, reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return true
	case reflect.Struct:
		return len(p.fields) == 1 && p.fields[0].plan.direct()
	case reflect.Array:
		return p.length == 1 && p.elem.direct()
	}
	return false
}

// held returns the address of the value in an interface at slot; its type is that of p. The value is read-only.
func (p *plan) held(slot unsafe.Pointer) unsafe.Pointer {
	word := unsafe.Add(slot, unsafe.Sizeof(uintptr(0)))
	if p.direct() {
		return word
	}
	return *(*unsafe.Pointer)(word)
}

// zero reports whether all bytes of a value are zero.
func zero(at unsafe.Pointer, size uintptr) bool {
	words := unsafe.Slice((*byte)(at), size)
	for len(words) >= 8 {
		if *(*uint64)(unsafe.Pointer(unsafe.SliceData(words))) != 0 {
			return false
		}
		words = words[8:]
	}
	for _, b := range words {
		if b != 0 {
			return false
		}
	}
	return true
}
