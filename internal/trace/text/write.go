package text

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"strconv"
	"time"
)

// writer appends a value to b. After the first error its output is meaningless.
type writer struct {
	codec    *Codec
	b        []byte
	veil     func([]byte)
	depth    int
	elements int
	err      error
}

func (w *writer) fail(format string, arguments ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("literal: "+format, arguments...)
	}
}

// end returns the output, or before if something could not be written.
func (w *writer) end(before []byte) ([]byte, error) {
	if w.err != nil {
		return before, w.err
	}
	return w.b, nil
}

// enter increases the depth, within the limit: a cyclic value ends there.
func (w *writer) enter() bool {
	if w.depth++; w.depth > maxDepth {
		w.fail("a value goes deeper than %d", maxDepth)
	}
	return w.err == nil
}

func (w *writer) count() {
	if w.elements++; w.elements > maxElements {
		w.fail("a value has more than %d elements", maxElements)
	}
}

func (w *writer) truth(v reflect.Value) { w.b = strconv.AppendBool(w.b, v.Bool()) }

func (w *writer) signed(v reflect.Value) { w.b = strconv.AppendInt(w.b, v.Int(), 10) }

func (w *writer) unsigned(v reflect.Value) { w.b = strconv.AppendUint(w.b, v.Uint(), 10) }

func (w *writer) real(v reflect.Value) { w.b = strconv.AppendFloat(w.b, v.Float(), 'g', -1, 64) }

func (w *writer) text(v reflect.Value) { w.b = strconv.AppendQuote(w.b, v.String()) }

func (w *writer) duration(v reflect.Value) { w.b = AppendDuration(w.b, time.Duration(v.Int())) }

// AppendDuration appends the text of a duration.
func AppendDuration(b []byte, d time.Duration) []byte {
	if d == never {
		return append(b, "never"...)
	}
	return append(b, d.String()...)
}

func (w *writer) bytes(v reflect.Value) { w.hex(v.Bytes()) }

// octets writes an array of bytes, which may be veiled. Zero stays zero.
func (w *writer) octets(v reflect.Value) {
	data := make([]byte, v.Len())
	reflect.Copy(reflect.ValueOf(data), v)
	if w.veil != nil && v.Type() == w.codec.veiled && !v.IsZero() {
		w.veil(data)
	}
	w.hex(data)
}

func (w *writer) hex(data []byte) {
	w.b = append(w.b, 'x', '"')
	w.b = hex.AppendEncode(w.b, data)
	w.b = append(w.b, '"')
}

func (w *writer) structure(v reflect.Value, fields []field) {
	if !w.enter() {
		return
	}
	w.b = append(w.b, '{')
	first := true
	for i := range fields {
		f := &fields[i]
		value := v.Field(f.index)
		if value.IsZero() {
			continue
		}
		if !first {
			w.b = append(w.b, ", "...)
		}
		first = false
		w.b = append(append(w.b, f.name...), ": "...)
		f.plan.write(w, value)
	}
	w.b = append(w.b, '}')
	w.depth--
}

// any writes a value whose type its context does not determine.
func (w *writer) any(v reflect.Value) {
	if v.IsValid() && v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		w.b = append(w.b, "nil"...)
		return
	}
	if !w.enter() {
		return
	}
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		w.b = append(w.b, '&')
		v = v.Elem()
	}
	name, known := w.codec.names[v.Type()]
	if !known {
		w.fail("type %s is not listed", v.Type())
		return
	}
	w.b = append(w.b, name...)
	if v.Kind() == reflect.Struct {
		w.codec.plans[v.Type()].write(w, v)
	} else {
		w.b = append(w.b, '(')
		w.codec.plans[v.Type()].write(w, v)
		w.b = append(w.b, ')')
	}
	w.depth--
}

// failure writes an error: as itself if it can be restored, and otherwise as its text and everything that it can be
// tested for.
func (w *writer) failure(v reflect.Value) {
	err := v.Interface().(error)
	if w.known(err) {
		return
	}
	if !w.enter() {
		return
	}
	w.b = strconv.AppendQuote(append(w.b, "error("...), err.Error())
	w.inside(err)
	w.b = append(w.b, ')')
	w.depth--
}

// known appends an error that can be restored as itself, and reports whether it is one.
func (w *writer) known(err error) bool {
	for i := range w.codec.sentinels {
		if err == w.codec.sentinels[i].Err { // its wrapped errors are written with it
			w.b = append(w.b, w.codec.sentinels[i].Name...)
			return true
		}
	}
	v := reflect.ValueOf(err)
	t := v.Type()
	if t.Kind() == reflect.Pointer {
		if v.IsNil() {
			return false
		}
		t = t.Elem()
	}
	if _, listed := w.codec.names[t]; listed {
		w.any(v)
		return true
	}
	return false
}

// inside appends the wrapped errors that can be restored as themselves.
func (w *writer) inside(err error) {
	var all []error
	switch wraps := err.(type) {
	case interface{ Unwrap() error }:
		all = []error{wraps.Unwrap()}
	case interface{ Unwrap() []error }:
		all = wraps.Unwrap()
	}
	for _, inner := range all {
		if inner == nil {
			continue
		}
		before := len(w.b)
		w.b = append(w.b, ", "...)
		if w.count(); !w.known(inner) {
			w.b = w.b[:before]
			if w.enter() {
				w.inside(inner)
				w.depth--
			}
		}
	}
}

// ParsedError is a decoded error: its text, and its wrapped errors.
type ParsedError struct {
	Sentence string
	Wrapped  []error
}

func (t *ParsedError) Error() string { return t.Sentence }

// Unwrap returns all that the error can be tested for.
func (t *ParsedError) Unwrap() []error { return t.Wrapped }
