package snapshot

import (
	"fmt"
	"reflect"
	"strings"
	"time"
	"unsafe"
)

// Rule describes the meaning of a field beyond its type. Rules change only forms; copies have everything.
type Rule struct {
	// In is the type from which the field is found. Required.
	In reflect.Type
	// Path leads from In to the struct that Moot and Group inspect: names of fields separated by points, through
	// pointers, slices and maps. Empty means In itself.
	Path string
	// Field leads from there to the field, through nested structs. Required.
	Field string

	// Moot reports, given the struct, that the field does not matter and is left out of the form. Nil means that it
	// always matters.
	Moot func(reflect.Value) bool
	// Entry limits the rule to one entry of a map: Field begins with the map, and then leads from the entry's target.
	// Entry returns the entry's key. The field of that entry is moot.
	Entry func(reflect.Value) reflect.Value
	// Class is kept with the number or the time of the field, and tells a caller how it may rename it. Zero is the
	// class of all fields without a rule. It applies only to the field: values within a struct or behind a pointer have
	// their own rules.
	Class uint8
	// Group is kept with the number of the field, like Class: numbers of two groups are never compared. Nil means the
	// scope passed to Form.
	Group func(reflect.Value) uint64
	// Table marks the field as a slice of structs with one number and one time each, in which an entry is looked up by
	// its number, its only use. Such entries are a separate list in the form.
	Table bool
}

// Ruled is a field of a graph with a rule, which may be changed.
type Ruled struct {
	Moot  bool // it does not matter here
	Class uint8
	Group uint64
	Table bool
	Value reflect.Value
}

// Ruled calls visit for every field with a rule, so that a test can change those that must not matter.
func (c *Copier) Ruled(root any, scope uint64, visit func(Ruled)) error {
	c.printer.visit = visit
	defer func() { c.printer.visit = nil }()
	_, err := c.Form(root, scope)
	return err
}

// moot is a field that may not matter.
type moot struct {
	offset uintptr
	test   func(reflect.Value) bool
	index  int // with entry: the index of the map's field
	entry  func(reflect.Value) reflect.Value
}

// obey applies the rules to the plans. The error names the first one that does not fit.
func (c *Copier) obey(rules []Rule) error {
	for i := range rules {
		if err := c.follow(&rules[i]); err != nil {
			return fmt.Errorf("snapshot: rule for %s of %v: %w", strings.Trim(rules[i].Path+"."+rules[i].Field, "."), rules[i].In, err)
		}
	}
	return nil
}

func (c *Copier) follow(r *Rule) error {
	at := c.planned(r.In)
	if r.Path != "" {
		for name := range strings.SplitSeq(r.Path, ".") {
			f, err := fieldOf(at, name)
			if err != nil {
				return err
			}
			for at = f.plan; at.kind == reflect.Pointer || at.kind == reflect.Slice || at.kind == reflect.Map; {
				at = at.elem
			}
		}
	}
	in, offset, rest, index := at, uintptr(0), r.Field, 0
	if r.Entry != nil {
		var name string
		name, rest, _ = strings.Cut(r.Field, ".")
		entries, err := fieldOf(at, name)
		if err != nil {
			return err
		}
		if entries.plan.kind != reflect.Map || entries.plan.elem.kind != reflect.Pointer {
			return fmt.Errorf("%s is a %v, and no map of pointers", name, entries.plan.is)
		}
		f, _ := at.is.FieldByName(name)
		at, index = entries.plan.elem.elem, f.Index[0]
	}
	var f *field
	for name := range strings.SplitSeq(rest, ".") {
		var err error
		if f, err = fieldOf(at, name); err != nil {
			return err
		}
		at, offset = f.plan, offset+f.offset
	}
	if r.Moot != nil || r.Entry != nil {
		in.moots = append(in.moots, moot{offset, r.Moot, index, r.Entry})
		f.mayBeMoot = true
	}
	if r.Group != nil && strings.Contains(r.Field, ".") {
		return fmt.Errorf("a group needs the struct that has the field: give its Path")
	}
	if r.Table && !isTable(f.plan) {
		return fmt.Errorf("a table is a slice of structs of one number and one time, and it is a %v", f.plan.is)
	}
	f.class, f.group, f.table = max(f.class, r.Class), r.Group, f.table || r.Table
	return nil
}

func fieldOf(p *plan, name string) (*field, error) {
	for i := range p.fields {
		if p.fields[i].name == name {
			return &p.fields[i], nil
		}
	}
	return nil, fmt.Errorf("%v has no field %s", p.is, name)
}

func isTable(p *plan) bool {
	if p.kind != reflect.Slice || p.elem.kind != reflect.Struct || len(p.elem.fields) != 2 {
		return false
	}
	return p.elem.fields[0].plan.kind == reflect.Uint64 && p.elem.fields[1].plan.is == reflect.TypeFor[time.Duration]()
}

// value returns the value at an address, which is read-only.
func (p *plan) value(at unsafe.Pointer) reflect.Value { return reflect.NewAt(p.is, at).Elem() }

// judge records which fields of a struct, or of its nested structs, do not matter.
func (w *printer) judge(at unsafe.Pointer, p *plan) {
	v := p.value(at)
	for i := range p.moots {
		moot := &p.moots[i]
		if moot.entry != nil {
			if of := v.Field(moot.index).MapIndex(moot.entry(v)); of.IsValid() {
				w.mooted = append(w.mooted, unsafe.Add(of.UnsafePointer(), moot.offset))
			}
			continue
		}
		if moot.test(v) {
			w.mooted = append(w.mooted, unsafe.Add(at, moot.offset))
		}
	}
}

// writeTable writes the entries of a table to their own list.
func (w *printer) writeTable(at unsafe.Pointer, f *field, group uint64) {
	v := f.plan.value(at)
	for i := range v.Len() {
		entry := v.Index(i)
		w.rows = append(w.rows, Row{Number{f.class, group, entry.Field(0).Uint()}, entry.Field(1).Int()})
	}
}
