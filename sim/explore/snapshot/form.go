package snapshot

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unsafe"
)

// Form is the comparable form of an object graph. Two graphs have the same shape and content if their forms are equal.
// If only their Shapes are equal, they differ only in numbers and times: replacing each n-th number and time of one by
// the n-th of the other gives the other.
type Form struct {
	Shape   [32]byte
	Numbers []Number // all integers, sorted, each once; negative ones above the others
	Times   []int64  // all time.Durations without a class, sorted, each once
	Classed []Time   // those with a class, in the order of their positions
	Rows    []Row    // of tables, in their order; see Rule
}

// Number is an integer, with the class and the group of its field; see Rule.
type Number struct {
	Class uint8
	Group uint64
	Value uint64
}

// Time is an instant or a length of time, with the class of its field; see Rule.
type Time struct {
	Class uint8
	Value int64
}

// Row is an entry of a table; see Rule.
type Row struct {
	Number Number
	Time   int64
}

// Compare orders numbers by class, group and value.
func (n Number) Compare(o Number) int {
	switch {
	case n.Class != o.Class:
		return int(n.Class) - int(o.Class)
	case n.Group != o.Group:
		return cmp.Compare(n.Group, o.Group)
	}
	return cmp.Compare(n.Value, o.Value)
}

// Form returns the form of the object at root. Scope is the group of numbers with a class whose rule has no group. The
// error names a value without a form, and its path.
func (c *Copier) Form(root any, scope uint64) (Form, error) {
	v := reflect.ValueOf(root)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return Form{}, fmt.Errorf("snapshot: %T is no pointer to something", root)
	}
	p := c.planned(v.Type().Elem())
	for {
		before := c.learned
		c.printer.reset(scope)
		err := c.print(object{v.UnsafePointer(), p})
		if err != nil {
			return Form{}, fmt.Errorf("snapshot: %s%w", p.is, err)
		}
		if c.learned == before {
			return c.printer.form(), nil
		}
	}
}

// printer writes the form of a graph.
type printer struct {
	text     []byte
	numbers  []Number
	times    []int64
	classed  []Time
	rows     []Row
	sorted   []Number
	ordered  []int64
	mooted   []unsafe.Pointer // fields that do not matter, as far as known
	visit    func(Ruled)      // is called for every field with a rule; mostly nil
	scope    uint64
	class    uint8  // of the field being written
	group    uint64 // of the field being written
	numbered map[object]int
	objects  []object
	extents  []extent // without addresses of copies
}

func newPrinter() printer { return printer{numbered: map[object]int{}} }

func (w *printer) reset(scope uint64) {
	clear(w.numbered)
	w.scope, w.rows, w.mooted, w.classed = scope, w.rows[:0], w.mooted[:0], w.classed[:0]
	w.text, w.numbers, w.times, w.objects, w.extents = w.text[:0], w.numbers[:0], w.times[:0], w.objects[:0], w.extents[:0]
}

// form sorts the numbers and times, and digests the rest with their positions.
func (w *printer) form() Form {
	w.sorted = append(w.sorted[:0], w.numbers...)
	w.ordered = append(w.ordered[:0], w.times...)
	slices.SortFunc(w.sorted, Number.Compare)
	slices.Sort(w.ordered)
	f := Form{
		Numbers: slices.Clone(slices.Compact(w.sorted)), Times: slices.Clone(slices.Compact(w.ordered)),
		Classed: slices.Clone(w.classed), Rows: slices.Clone(w.rows),
	}
	for _, n := range w.numbers {
		place, _ := slices.BinarySearchFunc(f.Numbers, n, Number.Compare)
		w.count(place)
	}
	for _, t := range w.times {
		place, _ := slices.BinarySearch(f.Times, t)
		w.count(place)
	}
	f.Shape = sha256.Sum256(w.text)
	return f
}

func (w *printer) count(n int) { w.text = binary.AppendUvarint(w.text, uint64(n)) }

// print writes all reachable objects, each once, in the order of the walk, and which of them are parts of others.
func (c *Copier) print(root object) error {
	w := &c.printer
	w.number(root)
	for i := 0; i < len(w.objects); i++ {
		o := w.objects[i]
		w.extents = append(w.extents, extent{from: o.at, size: o.plan.size})
		if err := c.write(o.at, o.plan); err != nil {
			return err
		}
	}
	for i, o := range w.objects {
		if !o.plan.embedded || o.plan.size == 0 {
			continue
		}
		for j := range w.extents {
			if e := &w.extents[j]; e.has(o) && e.size > o.plan.size {
				w.count(i)
				w.count(j)
				w.count(int(uintptr(o.at) - uintptr(e.from)))
				break
			}
		}
	}
	return nil
}

// number returns the number of an object, a new one for a new object.
func (w *printer) number(o object) int {
	n, met := w.numbered[o]
	if !met {
		n = len(w.objects)
		w.numbered[o] = n
		w.objects = append(w.objects, o)
	}
	return n
}

// write writes a value.
func (c *Copier) write(at unsafe.Pointer, p *plan) error {
	w := &c.printer
	switch p.kind {
	case reflect.Struct:
		return c.writeStruct(at, p)
	case reflect.Array:
		return c.writeAll(at, p.elem, p.length)
	case reflect.Slice:
		return c.writeSlice(at, p)
	case reflect.Map:
		return c.writeMap(at, p)
	case reflect.Interface:
		return c.writeBoxed(at, p)
	case reflect.Pointer:
		if to := *(*unsafe.Pointer)(at); to != nil {
			w.count(1 + w.number(object{to, p.elem}))
		} else {
			w.count(0)
		}
	case reflect.String:
		text := *(*string)(at)
		w.count(len(text))
		w.text = append(w.text, text...)
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		if *(*unsafe.Pointer)(at) != nil {
			return fmt.Errorf(": a %v has no form", p.is)
		}
	default:
		w.scalar(at, p)
	}
	return nil
}

// writeStruct writes the fields that matter.
func (c *Copier) writeStruct(at unsafe.Pointer, p *plan) error {
	w := &c.printer
	if len(p.moots) > 0 {
		w.judge(at, p)
	}
	for i := range p.fields {
		f := &p.fields[i]
		to := unsafe.Add(at, f.offset)
		isMoot := f.mayBeMoot && slices.Contains(w.mooted, to)
		w.class, w.group = f.class, 0
		if f.class != 0 {
			w.group = w.scope
			if f.group != nil {
				w.group = f.group(p.value(at))
			}
		}
		if w.visit != nil && (isMoot || f.class != 0) {
			w.visit(Ruled{Moot: isMoot, Class: f.class, Group: w.group, Table: f.table, Value: f.plan.value(to)})
		}
		if isMoot {
			continue
		}
		if f.table {
			w.writeTable(to, f, w.group)
			continue
		}
		if err := c.write(to, f.plan); err != nil {
			return fmt.Errorf(".%s%w", f.name, err)
		}
	}
	w.class, w.group = 0, 0
	return nil
}

// scalar writes a number, or adds it to its list.
func (w *printer) scalar(at unsafe.Pointer, p *plan) {
	switch p.kind {
	case reflect.Bool, reflect.Uint8, reflect.Int8:
		w.text = append(w.text, *(*byte)(at))
	case reflect.Float32:
		w.text = binary.LittleEndian.AppendUint32(w.text, math.Float32bits(*(*float32)(at)))
	case reflect.Float64:
		w.text = binary.LittleEndian.AppendUint64(w.text, math.Float64bits(*(*float64)(at)))
	case reflect.Complex64, reflect.Complex128:
		w.text = append(w.text, unsafe.Slice((*byte)(at), p.size)...)
	default:
		v := reflect.NewAt(p.is, at).Elem()
		switch {
		case p.duration && w.class != 0:
			w.classed = append(w.classed, Time{w.class, v.Int()})
		case p.duration:
			w.times = append(w.times, v.Int())
		case v.CanInt():
			w.numbers = append(w.numbers, Number{w.class, w.group, uint64(v.Int())})
		default:
			w.numbers = append(w.numbers, Number{w.class, w.group, v.Uint()})
		}
	}
}

// longArray is the length from which zero elements are left out.
const longArray = 16

func (c *Copier) writeAll(at unsafe.Pointer, p *plan, length int) error {
	w := &c.printer
	if p.kind == reflect.Uint8 {
		w.text = append(w.text, unsafe.Slice((*byte)(at), length)...)
		return nil
	}
	for i := range length {
		element := unsafe.Add(at, uintptr(i)*p.size)
		if length >= longArray {
			if zero(element, p.size) {
				continue
			}
			w.count(i + 1)
		}
		if err := c.write(element, p); err != nil {
			return fmt.Errorf("[%d]%w", i, err)
		}
	}
	if length >= longArray {
		w.count(0)
	}
	return nil
}

func (c *Copier) writeSlice(at unsafe.Pointer, p *plan) error {
	w := &c.printer
	v := reflect.NewAt(p.is, at).Elem()
	if v.IsNil() {
		w.count(0)
		return nil
	}
	length, from := v.Len(), v.UnsafePointer()
	w.count(1 + length)
	if length > 0 {
		w.extents = append(w.extents, extent{from: from, size: uintptr(length) * p.elem.size})
	}
	return c.writeAll(from, p.elem, length)
}

// writeMap writes the entries in the order of their keys.
func (c *Copier) writeMap(at unsafe.Pointer, p *plan) error {
	w := &c.printer
	v := reflect.NewAt(p.is, at).Elem()
	if v.IsNil() {
		w.count(0)
		return nil
	}
	w.count(1 + v.Len())
	if !p.key.ordered() {
		return fmt.Errorf(": keys of type %v have no order", p.key.is)
	}
	keys := make([]reflect.Value, 0, v.Len())
	for _, key := range v.MapKeys() {
		fixed := reflect.New(p.key.is)
		fixed.Elem().Set(key)
		keys = append(keys, fixed)
	}
	slices.SortFunc(keys, func(a, b reflect.Value) int { return compare(a.UnsafePointer(), b.UnsafePointer(), p.key) })
	for _, key := range keys {
		if err := c.write(key.UnsafePointer(), p.key); err != nil {
			return err
		}
		value := reflect.New(p.elem.is)
		value.Elem().Set(v.MapIndex(key.Elem()))
		if err := c.write(value.UnsafePointer(), p.elem); err != nil {
			return fmt.Errorf("[%v]%w", key.Elem(), err)
		}
	}
	return nil
}

func (c *Copier) writeBoxed(at unsafe.Pointer, in *plan) error {
	w := &c.printer
	v := reflect.NewAt(in.is, at).Elem()
	if v.IsNil() {
		w.count(0)
		return nil
	}
	p := c.planned(v.Elem().Type())
	w.count(1 + len(p.name))
	w.text = append(w.text, p.name...)
	if w.visit != nil && !p.direct() {
		v.Set(p.value(p.held(at))) // in a separate box
	}
	if err := c.write(p.held(at), p); err != nil {
		return fmt.Errorf(".(%v)%w", p.is, err)
	}
	return nil
}

// ordered reports whether the values of a type have an order that does not depend on their addresses.
func (p *plan) ordered() bool {
	switch p.kind {
	case reflect.Struct:
		return !slices.ContainsFunc(p.fields, func(f field) bool { return !f.plan.ordered() })
	case reflect.Array:
		return p.elem.ordered()
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return false
	}
	return true
}

// compare orders two keys of a map.
func compare(a, b unsafe.Pointer, p *plan) int {
	switch p.kind {
	case reflect.Struct:
		for _, f := range p.fields {
			if order := compare(unsafe.Add(a, f.offset), unsafe.Add(b, f.offset), f.plan); order != 0 {
				return order
			}
		}
		return 0
	case reflect.Array:
		for i := range p.length {
			if order := compare(unsafe.Add(a, uintptr(i)*p.elem.size), unsafe.Add(b, uintptr(i)*p.elem.size), p.elem); order != 0 {
				return order
			}
		}
		return 0
	case reflect.String:
		return strings.Compare(*(*string)(a), *(*string)(b))
	}
	return compareScalars(reflect.NewAt(p.is, a).Elem(), reflect.NewAt(p.is, b).Elem())
}

func compareScalars(a, b reflect.Value) int {
	less, equal := false, a.Equal(b)
	switch {
	case a.CanInt():
		less = uint64(a.Int()) < uint64(b.Int())
	case a.CanUint():
		less = a.Uint() < b.Uint()
	case a.CanFloat():
		less = a.Float() < b.Float()
	default:
		less = !a.Bool()
	}
	switch {
	case equal:
		return 0
	case less:
		return -1
	}
	return 1
}
