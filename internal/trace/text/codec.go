package text

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Sentinel is an error value that is the same everywhere, with its name.
type Sentinel struct {
	Name string
	Err  error
}

// Bounds of one value.
const (
	maxDepth    = 64
	maxElements = 1 << 18
)

// Codec encodes and decodes values of its types. It is safe for concurrent use.
type Codec struct {
	sentinels []Sentinel
	types     map[string]reflect.Type // by name: types of interface fields
	names     map[reflect.Type]string
	plans     map[reflect.Type]*plan
	veiled    reflect.Type
}

// plan encodes and decodes values of one type.
type plan struct {
	write func(w *writer, v reflect.Value)
	read  func(r *reader, v reflect.Value) // v can be set
}

// New returns a codec for the types of values: structs, or pointers to them if they are passed so. The error names a
// type or field without a text form.
func New(values []any, sentinels ...Sentinel) (*Codec, error) {
	c := &Codec{
		sentinels: slices.Clone(sentinels),
		types:     map[string]reflect.Type{}, names: map[reflect.Type]string{}, plans: map[reflect.Type]*plan{},
	}
	for _, value := range values {
		t := reflect.TypeOf(value)
		if t == nil {
			return nil, fmt.Errorf("literal: a value is nil; give one of each type")
		}
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		name := t.String()
		if other, taken := c.types[name]; taken && other != t {
			return nil, fmt.Errorf("literal: two types are called %s: of %s and of %s", name, other.PkgPath(), t.PkgPath())
		}
		c.types[name], c.names[t] = t, name
	}
	for _, name := range slices.Sorted(maps.Keys(c.types)) {
		if _, err := c.plan(c.types[name]); err != nil {
			return nil, fmt.Errorf("literal: %w", err)
		}
	}
	return c, nil
}

// Veil sets a type of bytes that must not be written as they are: the veil function of [Codec.Append] replaces them. It
// is called before the codec is used.
func (c *Codec) Veil(t reflect.Type) { c.veiled = t }

// Append appends the text of v, with its type. Veil, if not nil, replaces bytes of the veiled type in place. The error
// says what cannot be written; b is then returned unchanged.
func (c *Codec) Append(b []byte, v any, veil func([]byte)) ([]byte, error) {
	return c.append(b, reflect.ValueOf(v), veil)
}

// AppendFields appends a line for each nonzero field of the struct at which v points: its name, a colon, and its text.
// Its type must be listed.
func (c *Codec) AppendFields(b []byte, v any) ([]byte, error) {
	w := writer{codec: c, b: b}
	s := reflect.ValueOf(v).Elem()
	for i := range s.NumField() {
		if s.Field(i).IsZero() {
			continue
		}
		p := c.plans[s.Field(i).Type()]
		if p == nil {
			return b, fmt.Errorf("literal: type %s is not listed", s.Type())
		}
		w.b = append(append(w.b, s.Type().Field(i).Name...), ": "...)
		p.write(&w, s.Field(i))
		w.b = append(w.b, '\n')
	}
	return w.end(b)
}

// Parse decodes the output of Append, with nothing after it.
func (c *Codec) Parse(text string) (any, error) {
	r := reader{codec: c, text: text}
	var v any
	r.any(reflect.ValueOf(&v).Elem())
	if err := r.end(); err != nil {
		return nil, err
	}
	return v, nil
}

// ParseField decodes one line of AppendFields into the struct at which v points.
func (c *Codec) ParseField(line string, v any) error {
	name, text, is := strings.Cut(line, ": ")
	s := reflect.ValueOf(v).Elem()
	field, known := s.Type().FieldByName(name)
	if !is || !known || len(field.Index) != 1 || !field.IsExported() {
		return &Error{Found: name, What: fmt.Sprintf("%q is no field of %s", name, s.Type())}
	}
	p := c.plans[field.Type]
	if p == nil {
		return fmt.Errorf("literal: type %s is not listed", s.Type())
	}
	r := reader{codec: c, text: text, path: []string{name}}
	p.read(&r, s.FieldByIndex(field.Index))
	return r.end()
}

// AppendPointed is Append for the value at which a pointer points, without copying it.
func (c *Codec) AppendPointed(b []byte, pointer any, veil func([]byte)) ([]byte, error) {
	return c.append(b, reflect.ValueOf(pointer).Elem(), veil)
}

func (c *Codec) append(b []byte, v reflect.Value, veil func([]byte)) ([]byte, error) {
	w := writer{codec: c, b: b, veil: veil}
	w.any(v)
	return w.end(b)
}
