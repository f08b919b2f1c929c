package text

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Error is a fault in a text.
type Error struct {
	At    int    // byte offset
	Field string // the enclosing field; "" at the top
	Found string // the text there
	What  string // the fault
}

func (e *Error) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("at byte %d: %s", e.At, e.What)
	}
	return fmt.Sprintf("at byte %d, in field %s: %s", e.At, e.Field, e.What)
}

// reader decodes a value from a text. After the first error it consumes nothing more.
type reader struct {
	codec    *Codec
	text     string
	at       int
	path     []string
	depth    int
	elements int
	err      error
}

// excerptLength is the length of a shown excerpt.
const excerptLength = 24

func (r *reader) rest() string {
	rest := r.text[r.at:]
	if len(rest) > excerptLength {
		rest = rest[:excerptLength]
	}
	return rest
}

func (r *reader) fail(format string, arguments ...any) {
	if r.err == nil {
		field := strings.ReplaceAll(strings.Join(r.path, "."), ".[", "[")
		r.err = &Error{At: r.at, Field: field, Found: r.rest(), What: fmt.Sprintf(format, arguments...)}
	}
	r.at = len(r.text)
}

// end returns the first error, which may be text after the value.
func (r *reader) end() error {
	if r.err == nil && r.at < len(r.text) {
		r.fail("%q stands behind the value", r.rest())
	}
	return r.err
}

// take consumes one character, if it matches.
func (r *reader) take(b byte) bool {
	if r.err != nil {
		return false
	}
	if r.at >= len(r.text) || r.text[r.at] != b {
		r.fail("want %q, and there is %q", b, r.rest())
		return false
	}
	r.at++
	return true
}

// nothing consumes a nil, if there is one.
func (r *reader) nothing() bool {
	if r.err != nil || !strings.HasPrefix(r.text[r.at:], "nil") {
		return false
	}
	start := r.at
	if r.token() == "nil" {
		return true
	}
	r.at = start
	return false
}

func (r *reader) enter() bool {
	if r.depth++; r.depth > maxDepth {
		r.fail("a value goes deeper than %d", maxDepth)
	}
	return r.err == nil
}

// each decodes a list between two brackets, separated by commas.
func (r *reader) each(open, end byte, one func(i int)) {
	if !r.take(open) || !r.enter() {
		return
	}
	for i := 0; r.err == nil; i++ {
		if r.at < len(r.text) && r.text[r.at] == end {
			break
		}
		if i > 0 && !(r.take(',') && r.take(' ')) {
			return
		}
		if r.elements++; r.elements > maxElements {
			r.fail("a value has more than %d elements", maxElements)
			return
		}
		one(i)
	}
	r.take(end)
	r.depth--
}

// token consumes everything up to a separator.
func (r *reader) token() string {
	end := strings.IndexAny(r.text[r.at:], " ,:{}[]()\"&")
	if end < 0 {
		end = len(r.text) - r.at
	}
	r.at += end
	return r.text[r.at-end : r.at]
}

func (r *reader) truth(v reflect.Value) {
	switch token := r.token(); token {
	case "true", "false":
		v.SetBool(token == "true")
	default:
		r.fail("%q is neither true nor false", token)
	}
}

func (r *reader) signed(v reflect.Value) {
	token := r.token()
	n, err := strconv.ParseInt(token, 10, v.Type().Bits())
	if err != nil {
		r.fail("%q is no whole number of %d bits", token, v.Type().Bits())
	}
	v.SetInt(n)
}

func (r *reader) unsigned(v reflect.Value) {
	token := r.token()
	n, err := strconv.ParseUint(token, 10, v.Type().Bits())
	if err != nil {
		r.fail("%q is no number of %d bits", token, v.Type().Bits())
	}
	v.SetUint(n)
}

func (r *reader) real(v reflect.Value) {
	token := r.token()
	n, err := strconv.ParseFloat(token, 64)
	if err != nil {
		r.fail("%q is no number", token)
	}
	v.SetFloat(n)
}

func (r *reader) duration(v reflect.Value) {
	token := r.token()
	d, err := ParseDuration(token)
	if err != nil {
		r.fail("%q is no duration", token)
	}
	v.SetInt(int64(d))
}

// ParseDuration decodes the output of AppendDuration.
func ParseDuration(text string) (time.Duration, error) {
	if text == "never" {
		return never, nil
	}
	return time.ParseDuration(text)
}

func (r *reader) unquote() string {
	if r.err != nil {
		return ""
	}
	quoted, err := strconv.QuotedPrefix(r.text[r.at:])
	if err != nil || quoted[0] != '"' {
		r.fail("want a text in quotes, and there is %q", r.rest())
		return ""
	}
	plain, err := strconv.Unquote(quoted)
	if err != nil {
		r.fail("%q is no text", quoted)
		return ""
	}
	r.at += len(quoted)
	return plain
}

func (r *reader) quoted(v reflect.Value) { v.SetString(r.unquote()) }

func (r *reader) hex() []byte {
	if !r.take('x') || !r.take('"') {
		return nil
	}
	end := strings.IndexByte(r.text[r.at:], '"')
	if end < 0 {
		r.fail("bytes without an end")
		return nil
	}
	data, err := hex.DecodeString(r.text[r.at : r.at+end])
	if err != nil {
		r.fail("bytes are written as pairs of 0 to 9 and a to f, and there is %q", r.rest())
		return nil
	}
	r.at += end + 1
	return data
}

func (r *reader) bytes(v reflect.Value) {
	if data := r.hex(); r.err == nil {
		v.SetBytes(data)
	}
}

func (r *reader) octets(v reflect.Value) {
	data := r.hex()
	if r.err == nil && len(data) != v.Len() {
		r.fail("%d bytes, want %d", len(data), v.Len())
	}
	if r.err == nil {
		reflect.Copy(v, reflect.ValueOf(data))
	}
}

// any decodes a value with its type.
func (r *reader) any(v reflect.Value) {
	if r.nothing() {
		v.SetZero()
		return
	}
	if !r.enter() {
		return
	}
	pointer := r.at < len(r.text) && r.text[r.at] == '&'
	if pointer {
		r.at++
	}
	name := r.token()
	t, known := r.codec.types[name]
	if !known {
		r.fail("%q is no type that is listed", name)
		return
	}
	value := reflect.New(t)
	if t.Kind() == reflect.Struct {
		r.codec.plans[t].read(r, value.Elem())
	} else if r.take('(') {
		r.codec.plans[t].read(r, value.Elem())
		r.take(')')
	}
	if !pointer {
		value = value.Elem()
	}
	switch {
	case r.err != nil:
	case !value.Type().AssignableTo(v.Type()):
		r.fail("%s cannot stand there", value.Type())
	default:
		v.Set(value)
	}
	r.depth--
}

// failure decodes an error.
func (r *reader) failure(v reflect.Value) {
	if err := r.anError(); r.err == nil && err != nil {
		v.Set(reflect.ValueOf(err))
	}
}

// anError decodes one error that is not nil.
func (r *reader) anError() error {
	if !r.enter() {
		return nil
	}
	defer func() { r.depth-- }()
	start := r.at
	name := r.token()
	if name == "error" {
		return r.parseError()
	}
	for _, s := range r.codec.sentinels {
		if s.Name == name {
			return s.Err
		}
	}
	r.at = start
	var err error
	r.any(reflect.ValueOf(&err).Elem())
	return err
}

// parseError decodes an error's text and wrapped errors.
func (r *reader) parseError() error {
	if !r.take('(') {
		return nil
	}
	parsed := &ParsedError{Sentence: r.unquote()}
	for r.err == nil && r.at < len(r.text) && r.text[r.at] == ',' {
		if r.take(','); !r.take(' ') {
			break
		}
		if r.elements++; r.elements > maxElements {
			r.fail("a value has more than %d elements", maxElements)
			break
		}
		inner := r.anError()
		if inner == nil {
			r.fail("an error wraps none")
			break
		}
		parsed.Wrapped = append(parsed.Wrapped, inner)
	}
	r.take(')')
	return parsed
}
