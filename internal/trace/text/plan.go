package text

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
)

var (
	durationType = reflect.TypeFor[time.Duration]()
	errorType    = reflect.TypeFor[error]()
	stringerType = reflect.TypeFor[fmt.Stringer]()
)

// never is the duration of things that never come.
const never = time.Duration(math.MaxInt64)

// plan returns the plan of t, made if new. All of the codec's own types have theirs when New returns, so it is
// immutable afterwards.
func (c *Codec) plan(t reflect.Type) (*plan, error) {
	if p := c.plans[t]; p != nil {
		return p, nil
	}
	p := &plan{}
	c.plans[t] = p // before its parts: a type may contain itself
	var err error
	if p.write, p.read, err = c.functions(t); err != nil {
		delete(c.plans, t)
		return nil, err
	}
	return p, nil
}

type (
	writes = func(*writer, reflect.Value)
	reads  = func(*reader, reflect.Value)
)

func (c *Codec) functions(t reflect.Type) (writes, reads, error) {
	if t == durationType {
		return (*writer).duration, (*reader).duration, nil
	}
	switch t.Kind() {
	case reflect.Bool:
		return (*writer).truth, (*reader).truth, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return (*writer).signed, (*reader).signed, nil
	case reflect.Uint8:
		return c.enumeration(t)
	case reflect.Uint, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return (*writer).unsigned, (*reader).unsigned, nil
	case reflect.Float64:
		return (*writer).real, (*reader).real, nil
	case reflect.String:
		return (*writer).text, (*reader).quoted, nil
	case reflect.Slice, reflect.Array:
		return c.list(t)
	case reflect.Map:
		return c.table(t)
	case reflect.Pointer:
		return c.pointer(t)
	case reflect.Struct:
		return c.structure(t)
	case reflect.Interface:
		if t.Implements(errorType) {
			return unlessNil((*writer).failure, (*reader).failure)
		}
		return (*writer).any, (*reader).any, nil
	}
	return nil, nil, fmt.Errorf("type %s is a %s, which has no place in a text", t, t.Kind())
}

// unlessNil adds nil to a plan.
func unlessNil(write writes, read reads) (writes, reads, error) {
	return func(w *writer, v reflect.Value) {
			if v.IsNil() {
				w.b = append(w.b, "nil"...)
				return
			}
			write(w, v)
		}, func(r *reader, v reflect.Value) {
			if r.nothing() {
				v.SetZero()
				return
			}
			read(r, v)
		}, nil
}

// enumeration plans a byte, by the words of its String.
func (c *Codec) enumeration(t reflect.Type) (writes, reads, error) {
	if !t.Implements(stringerType) {
		return (*writer).unsigned, (*reader).unsigned, nil
	}
	var names [256]string
	values := map[string]uint64{}
	for n := range names {
		name := nameOf(t, uint64(n))
		if _, taken := values[name]; name == "" || taken {
			continue
		}
		names[n], values[name] = name, uint64(n)
	}
	write := func(w *writer, v reflect.Value) {
		if name := names[v.Uint()]; name != "" {
			w.b = append(w.b, name...)
			return
		}
		w.unsigned(v)
	}
	read := func(r *reader, v reflect.Value) {
		if r.at < len(r.text) && isLetter(r.text[r.at]) {
			name := r.token()
			n, known := values[name]
			if !known {
				r.fail("%q is no %s", name, t)
			}
			v.SetUint(n)
			return
		}
		r.unsigned(v)
	}
	return write, read, nil
}

// nameOf returns a value's String, if that is a word; many panic, or return a number, for undefined values.
func nameOf(t reflect.Type, n uint64) (name string) {
	defer func() {
		if recover() != nil {
			name = ""
		}
	}()
	v := reflect.New(t).Elem()
	v.SetUint(n)
	name = v.Interface().(fmt.Stringer).String()
	for i := range len(name) {
		if !isLetter(name[i]) && (i == 0 || !isDigit(name[i]) && name[i] != '-' && name[i] != '_') {
			return ""
		}
	}
	return name
}

func isLetter(b byte) bool { return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' }

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// list plans a slice or an array; bytes are written as one text.
func (c *Codec) list(t reflect.Type) (writes, reads, error) {
	element, err := c.plan(t.Elem())
	if err != nil {
		return nil, nil, fmt.Errorf("elements of %s: %w", t, err)
	}
	isBytes := t.Elem().Kind() == reflect.Uint8 && !t.Elem().Implements(stringerType)
	switch {
	case isBytes && t.Kind() == reflect.Slice:
		return unlessNil((*writer).bytes, (*reader).bytes)
	case isBytes:
		return (*writer).octets, (*reader).octets, nil
	case t.Kind() == reflect.Array:
		return element.writeAll, element.readArray, nil
	}
	read := func(r *reader, v reflect.Value) {
		v.Set(reflect.MakeSlice(t, 0, 0))
		r.each('[', ']', func(i int) {
			v.Grow(1)
			v.SetLen(i + 1)
			element.readElement(r, v, i)
		})
	}
	return unlessNil(element.writeAll, read)
}

// writeAll writes the elements of a slice or an array.
func (p *plan) writeAll(w *writer, v reflect.Value) {
	if !w.enter() {
		return
	}
	w.b = append(w.b, '[')
	for i := range v.Len() {
		if i > 0 {
			w.b = append(w.b, ", "...)
		}
		w.count()
		p.write(w, v.Index(i))
	}
	w.b = append(w.b, ']')
	w.depth--
}

func (p *plan) readElement(r *reader, v reflect.Value, i int) {
	r.path = append(r.path, fmt.Sprintf("[%d]", i))
	p.read(r, v.Index(i))
	r.path = r.path[:len(r.path)-1]
}

// readArray decodes the elements of an array, with its exact length.
func (p *plan) readArray(r *reader, v reflect.Value) {
	v.SetZero()
	read := 0
	r.each('[', ']', func(i int) {
		if i >= v.Len() {
			r.fail("more than the %d elements of %s", v.Len(), v.Type())
			return
		}
		p.readElement(r, v, i)
		read = i + 1
	})
	if read < v.Len() {
		r.fail("%d of the %d elements of %s", read, v.Len(), v.Type())
	}
}

// table plans a map from texts to texts, in key order.
func (c *Codec) table(t reflect.Type) (writes, reads, error) {
	if t.Key().Kind() != reflect.String || t.Elem().Kind() != reflect.String {
		return nil, nil, fmt.Errorf("type %s is a map of other things than texts, which has no place in a text", t)
	}
	write := func(w *writer, v reflect.Value) {
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		w.b = append(w.b, '{')
		for i, key := range keys {
			if i > 0 {
				w.b = append(w.b, ", "...)
			}
			w.count()
			w.text(key)
			w.b = append(w.b, ": "...)
			w.text(v.MapIndex(key))
		}
		w.b = append(w.b, '}')
	}
	read := func(r *reader, v reflect.Value) {
		v.Set(reflect.MakeMap(t))
		r.each('{', '}', func(int) {
			key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
			r.quoted(key)
			if r.take(':') && r.take(' ') {
				r.quoted(value)
			}
			if r.err == nil && v.MapIndex(key).IsValid() {
				r.fail("key %q stands there twice", key)
				return
			}
			v.SetMapIndex(key, value)
		})
	}
	return unlessNil(write, read)
}

func (c *Codec) pointer(t reflect.Type) (writes, reads, error) {
	pointed, err := c.plan(t.Elem())
	if err != nil {
		return nil, nil, fmt.Errorf("what %s points to: %w", t, err)
	}
	write := func(w *writer, v reflect.Value) {
		if w.enter() {
			w.b = append(w.b, '&')
			pointed.write(w, v.Elem())
			w.depth--
		}
	}
	read := func(r *reader, v reflect.Value) {
		if r.take('&') && r.enter() {
			v.Set(reflect.New(t.Elem()))
			pointed.read(r, v.Elem())
			r.depth--
		}
	}
	return unlessNil(write, read)
}

// field is an exported field of a struct.
type field struct {
	name  string
	index int
	plan  *plan
}

// structure plans a struct: its nonzero fields, in order.
func (c *Codec) structure(t reflect.Type) (writes, reads, error) {
	var fields []field
	var hidden []int
	byName := map[string]int{}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			hidden = append(hidden, i)
			continue
		}
		p, err := c.plan(f.Type)
		if err != nil {
			return nil, nil, fmt.Errorf("field %s of %s: %w", f.Name, t, err)
		}
		byName[f.Name] = len(fields)
		fields = append(fields, field{f.Name, i, p})
	}
	write := func(w *writer, v reflect.Value) {
		for _, i := range hidden {
			if !v.Field(i).IsZero() {
				w.fail("field %s of %s is not exported, and is not zero", t.Field(i).Name, t)
				return
			}
		}
		w.structure(v, fields)
	}
	read := func(r *reader, v reflect.Value) {
		v.SetZero()
		seen := -1
		r.each('{', '}', func(int) {
			name := r.token()
			i, known := byName[name]
			if !known {
				r.fail("%q is no field of %s", name, t)
				return
			}
			if i <= seen {
				r.fail("field %s of %s stands out of order, or twice", name, t)
				return
			}
			seen = i
			r.path = append(r.path, name)
			if r.take(':') && r.take(' ') {
				fields[i].plan.read(r, v.Field(fields[i].index))
			}
			r.path = r.path[:len(r.path)-1]
		})
	}
	return write, read, nil
}
