package snapshot

import (
	"fmt"
	"reflect"
	"slices"
	"unsafe"
)

// Copier copies object graphs, and computes their forms. It caches its plans for types, and is not safe for concurrent
// use; two Copiers compute the same forms.
type Copier struct {
	plans   map[reflect.Type]*plan
	learned int // how often a type turned out to be embedded

	copies  map[object]unsafe.Pointer
	extents []extent
	later   []deferred
	entries []entry
	alone   []object // copied as separate objects
	roots   []object // objects that contain some of those: they are copied first
	printer printer
}

// object is the target of a pointer.
type object struct {
	at   unsafe.Pointer
	plan *plan
}

// extent is the location of an object, and of its copy.
type extent struct {
	from, to unsafe.Pointer
	size     uintptr
}

// deferred is a pointer that may point into an object, to be set when everything else is copied.
type deferred struct {
	slot unsafe.Pointer // a pointer, or an interface that holds one
	in   *plan          // the interface's; nil if slot is a pointer
	to   object
}

// entry is a map entry with a deferred pointer.
type entry struct{ in, key, value reflect.Value }

// New returns a Copier whose forms obey the rules. The error names a rule that does not fit its types.
func New(rules ...Rule) (*Copier, error) {
	c := &Copier{plans: map[reflect.Type]*plan{}, copies: map[object]unsafe.Pointer{}, printer: newPrinter()}
	return c, c.obey(rules)
}

// Copy returns a copy of the object at root. The error names a value that cannot be copied, and its path.
func Copy[T any](c *Copier, root *T) (*T, error) {
	p := c.planned(reflect.TypeFor[T]())
	c.roots = c.roots[:0]
	for {
		before := c.learned + len(c.roots)
		to, err := c.copyAll(unsafe.Pointer(root), p)
		if err != nil {
			return nil, fmt.Errorf("snapshot: %s%w", p.is, err)
		}
		if c.learned+len(c.roots) == before {
			return (*T)(to), nil
		}
	}
}

func (c *Copier) copyAll(from unsafe.Pointer, p *plan) (unsafe.Pointer, error) {
	clear(c.copies)
	c.extents, c.later, c.entries, c.alone = c.extents[:0], c.later[:0], c.entries[:0], c.alone[:0]
	for _, root := range c.roots {
		if _, err := c.object(root); err != nil {
			return nil, err
		}
	}
	to, err := c.object(object{from, p})
	for err == nil && len(c.later) > 0 {
		err = c.resolve()
	}
	for _, e := range c.entries {
		e.in.SetMapIndex(e.key, e.value)
	}
	return to, err
}

// object copies the target of a pointer, once.
func (c *Copier) object(from object) (unsafe.Pointer, error) {
	if to, done := c.copies[from]; done {
		return to, nil
	}
	to := c.within(from)
	if to != nil {
		c.copies[from] = to
		return to, nil
	}
	v := reflect.New(from.plan.is)
	v.Elem().Set(reflect.NewAt(from.plan.is, from.at).Elem())
	to = v.UnsafePointer()
	c.copies[from] = to
	if c.extend(from.at, to, from.plan.size) {
		c.roots = append(c.roots, from)
	}
	if from.plan.flat {
		return to, nil
	}
	return to, c.unshare(to, from.plan)
}

// extend records the copy of an object. It reports whether a part of it was copied as a separate object.
func (c *Copier) extend(from, to unsafe.Pointer, size uintptr) bool {
	e := extent{from, to, size}
	c.extents = append(c.extents, e)
	return slices.ContainsFunc(c.alone, func(o object) bool { return e.has(o) && o.plan.size < size })
}

// has reports whether an object is within the extent.
func (e *extent) has(o object) bool {
	return uintptr(o.at) >= uintptr(e.from) && uintptr(o.at)-uintptr(e.from)+o.plan.size <= e.size
}

// within returns the copy of an object that is a part of a copied one, or nil.
func (c *Copier) within(o object) unsafe.Pointer {
	if !o.plan.embedded {
		return nil
	}
	for i := range c.extents {
		if e := &c.extents[i]; e.has(o) {
			return unsafe.Add(e.to, uintptr(o.at)-uintptr(e.from))
		}
	}
	return nil
}

// resolve sets the deferred pointers whose objects are copied by now. If there are none, it copies the largest of the
// others, which cannot be a part of any of them.
func (c *Copier) resolve() error {
	later := slices.Clone(c.later)
	c.later = c.later[:0]
	for _, d := range later {
		to, done := c.copies[d.to]
		if !done {
			to = c.within(d.to)
		}
		if to == nil {
			c.later = append(c.later, d)
			continue
		}
		d.set(to)
	}
	if len(c.later) < len(later) {
		return nil
	}
	largest := slices.MaxFunc(c.later, func(a, b deferred) int { return int(a.to.plan.size) - int(b.to.plan.size) })
	c.alone = append(c.alone, largest.to)
	_, err := c.object(largest.to)
	return err
}

func (d *deferred) set(to unsafe.Pointer) {
	if d.in == nil {
		*(*unsafe.Pointer)(d.slot) = to
		return
	}
	reflect.NewAt(d.in.is, d.slot).Elem().Set(reflect.NewAt(d.to.plan.is, to))
}

// unshare replaces everything that an assigned value still shares with the original.
func (c *Copier) unshare(at unsafe.Pointer, p *plan) error {
	switch p.kind {
	case reflect.Struct:
		for i := range p.loose {
			f := &p.loose[i]
			if err := c.unshare(unsafe.Add(at, f.offset), f.plan); err != nil {
				return fmt.Errorf(".%s%w", f.name, err)
			}
		}
	case reflect.Array:
		return c.elements(at, p.elem, p.length)
	case reflect.Pointer:
		return c.pointer(at, p)
	case reflect.Slice:
		return c.slice(at, p)
	case reflect.Map:
		return c.mapping(at, p)
	case reflect.Interface:
		return c.boxed(at, p)
	default:
		if *(*unsafe.Pointer)(at) != nil {
			return fmt.Errorf(": a %v cannot be copied", p.is)
		}
	}
	return nil
}

func (c *Copier) elements(at unsafe.Pointer, p *plan, length int) error {
	for i := range length {
		if err := c.unshare(unsafe.Add(at, uintptr(i)*p.size), p); err != nil {
			return fmt.Errorf("[%d]%w", i, err)
		}
	}
	return nil
}

func (c *Copier) pointer(at unsafe.Pointer, p *plan) error {
	to := object{*(*unsafe.Pointer)(at), p.elem}
	switch {
	case to.at == nil:
		return nil
	case p.elem.embedded:
		c.later = append(c.later, deferred{slot: at, to: to})
		return nil
	}
	copied, err := c.object(to)
	*(*unsafe.Pointer)(at) = copied
	return err
}

func (c *Copier) slice(at unsafe.Pointer, p *plan) error {
	old := reflect.NewAt(p.is, at).Elem()
	if old.IsNil() {
		return nil
	}
	length := old.Len()
	fresh := reflect.MakeSlice(p.is, length, length)
	reflect.Copy(fresh, old)
	from := old.UnsafePointer()
	old.Set(fresh)
	if length == 0 {
		return nil
	}
	if c.extend(from, fresh.UnsafePointer(), uintptr(length)*p.elem.size) {
		return fmt.Errorf(": a slice that can be reached through a pointer to an element only cannot be copied")
	}
	if p.elem.flat {
		return nil
	}
	return c.elements(fresh.UnsafePointer(), p.elem, length)
}

func (c *Copier) mapping(at unsafe.Pointer, p *plan) error {
	old := reflect.NewAt(p.is, at).Elem()
	if old.IsNil() {
		return nil
	}
	same := object{old.UnsafePointer(), p}
	if to, done := c.copies[same]; done {
		*(*unsafe.Pointer)(at) = to
		return nil
	}
	fresh := reflect.MakeMapWithSize(p.is, old.Len())
	c.copies[same] = fresh.UnsafePointer()
	for entries := old.MapRange(); entries.Next(); {
		if p.key.flat && p.elem.flat {
			fresh.SetMapIndex(entries.Key(), entries.Value())
			continue
		}
		if err := c.entry(fresh, entries, p); err != nil {
			return fmt.Errorf("[%v]%w", entries.Key(), err)
		}
	}
	old.Set(fresh)
	return nil
}

func (c *Copier) entry(fresh reflect.Value, entries *reflect.MapIter, p *plan) error {
	if !p.key.flat {
		return fmt.Errorf(": a key of type %v cannot be copied", p.key.is)
	}
	value := reflect.New(p.elem.is)
	value.Elem().Set(entries.Value())
	before := len(c.later)
	err := c.unshare(value.UnsafePointer(), p.elem)
	if len(c.later) == before {
		fresh.SetMapIndex(entries.Key(), value.Elem())
	} else {
		c.entries = append(c.entries, entry{fresh, entries.Key(), value.Elem()})
	}
	return err
}

// boxed copies the value in an interface. A flat value in an interface never changes.
func (c *Copier) boxed(at unsafe.Pointer, in *plan) error {
	slot := reflect.NewAt(in.is, at).Elem()
	if slot.IsNil() {
		return nil
	}
	value := slot.Elem()
	p := c.planned(value.Type())
	if p.flat {
		return nil
	}
	if p.kind == reflect.Pointer {
		to := object{value.UnsafePointer(), p.elem}
		switch {
		case to.at == nil:
			return nil
		case p.elem.embedded:
			c.later = append(c.later, deferred{at, in, to})
			return nil
		}
		copied, err := c.object(to)
		if err != nil {
			return fmt.Errorf(".(%v)%w", p.is, err)
		}
		slot.Set(reflect.NewAt(p.elem.is, copied))
		return nil
	}
	fresh := reflect.New(p.is)
	fresh.Elem().Set(value)
	before := len(c.later)
	if err := c.unshare(fresh.UnsafePointer(), p); err != nil {
		return fmt.Errorf(".(%v)%w", p.is, err)
	}
	if len(c.later) != before {
		return fmt.Errorf(".(%v): a value that has a pointer to a part of something cannot be copied", p.is)
	}
	slot.Set(fresh.Elem())
	return nil
}
