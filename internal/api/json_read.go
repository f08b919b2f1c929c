package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/holdfast-locks/holdfast"
)

// Read decodes a document, one JSON object, into a message. It refuses unknown and repeated fields, nulls, and anything
// after the object; also fields that are bound elsewhere, in a path, and those for the caller. The error names the
// field, its value and what is wanted.
func (j *JSON) Read(body []byte, into proto.Message, bound ...string) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return errors.New("the body is empty; want a JSON object")
	}
	if !utf8.Valid(body) {
		return errors.New("the body is not UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if opening, err := decoder.Token(); err != nil || opening != json.Delim('{') {
		return errors.New("the body is no JSON object")
	}
	message := into.ProtoReflect()
	if err := j.documents[message.Descriptor().FullName()].read(decoder, message, bound); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("there is more after the JSON object, at byte %d", decoder.InputOffset())
	}
	return nil
}

// read decodes the fields of an object, after its opening bracket, up to its end.
func (d *document) read(decoder *json.Decoder, m protoreflect.Message, bound []string) error {
	has := map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return noJSON(decoder, err)
		}
		name, _ := token.(string)
		f := d.byName[name]
		switch {
		case f == nil || !f.taken(bound):
			return fmt.Errorf("unknown field %.80q: want %s", name, d.names(bound))
		case has[name]:
			return fmt.Errorf("field %s is given twice", name)
		}
		has[name] = true
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return noJSON(decoder, err)
		}
		if string(raw) == "null" {
			return fmt.Errorf("%s: null; leave it out instead", name)
		}
		if err := f.read(raw, m); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if _, err := decoder.Token(); err != nil {
		return noJSON(decoder, err)
	}
	return nil
}

// taken reports whether a field must not be in a document.
func (f *field) taken(bound []string) bool {
	return f.as != Caller && !slices.Contains(bound, string(f.Name()))
}

func (d *document) names(bound []string) string {
	var names []string
	for _, f := range d.fields {
		if f.taken(bound) {
			names = append(names, string(f.Name()))
		}
	}
	if len(names) == 0 {
		return "none"
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func noJSON(decoder *json.Decoder, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it ends too early")
	}
	return fmt.Errorf("the body is no JSON, at byte %d: %w", decoder.InputOffset(), err)
}

// excerpt shortens a value for a message.
func excerpt(raw []byte) string {
	const most = 60
	if len(raw) > most {
		return strings.ToValidUTF8(string(raw[:most]), "") + "…"
	}
	return string(raw)
}

// read decodes the value of a field of m.
func (f *field) read(raw []byte, m protoreflect.Message) error {
	switch {
	case f.IsMap():
		var texts map[string]string
		if err := json.Unmarshal(raw, &texts); err != nil {
			return fmt.Errorf("%s: want an object of strings", excerpt(raw))
		}
		to := m.Mutable(f.FieldDescriptor).Map()
		//tidy:unordered each goes to its own place
		for name, text := range texts {
			to.Set(protoreflect.ValueOfString(name).MapKey(), protoreflect.ValueOfString(text))
		}
	case f.IsList():
		var each []json.RawMessage
		if err := json.Unmarshal(raw, &each); err != nil {
			return fmt.Errorf("%s: want a list of %ss", excerpt(raw), f.Kind())
		}
		list := m.Mutable(f.FieldDescriptor).List()
		for _, one := range each {
			v, err := f.value(one, list.NewElement)
			switch {
			case err != nil && f.Kind() == protoreflect.StringKind:
				return fmt.Errorf("%s: want a list of strings", excerpt(raw))
			case err != nil:
				return err
			}
			list.Append(v)
		}
	default:
		v, err := f.value(raw, func() protoreflect.Value { return m.NewField(f.FieldDescriptor) })
		if err != nil {
			return err
		}
		if v.IsValid() { // otherwise it is an unknown time
			m.Set(f.FieldDescriptor, v)
		}
	}
	return nil
}

// value decodes one value.
func (f *field) value(raw []byte, fresh func() protoreflect.Value) (none protoreflect.Value, err error) {
	switch f.Kind() {
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		return f.number(string(raw))
	case protoreflect.BoolKind:
		if string(raw) != "true" && string(raw) != "false" {
			return none, fmt.Errorf("%s: want true or false", excerpt(raw))
		}
		return protoreflect.ValueOfBool(string(raw) == "true"), nil
	case protoreflect.MessageKind:
		if f.document.isObject() {
			decoder := json.NewDecoder(bytes.NewReader(raw))
			if opening, err := decoder.Token(); err != nil || opening != json.Delim('{') {
				return none, fmt.Errorf("%s: want an object", excerpt(raw))
			}
			v := fresh()
			return v, f.document.read(decoder, v.Message(), nil)
		}
	}
	var text *string
	if err := json.Unmarshal(raw, &text); err != nil || text == nil {
		return none, fmt.Errorf("%s: want a %s", excerpt(raw), f.shape())
	}
	return f.text(*text)
}

// isObject is false for messages that are written as texts.
func (d *document) isObject() bool { return d.byName["nanos"] == nil }

// shape describes the form of a text.
func (f *field) shape() string {
	switch {
	case f.Kind() == protoreflect.Uint64Kind:
		return "decimal number in quotes"
	case f.isDuration():
		return `string with a unit, as in "10s" or "1m30s"`
	}
	return "string"
}

func (f *field) isDuration() bool {
	return f.Message() != nil && f.Message().FullName() == (*durationpb.Duration)(nil).ProtoReflect().Descriptor().FullName()
}

func (f *field) number(text string) (protoreflect.Value, error) {
	if f.Kind() == protoreflect.Int64Kind {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return protoreflect.Value{}, fmt.Errorf("%s: want a whole number", excerpt([]byte(text)))
		}
		return protoreflect.ValueOfInt64(n), nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if whole, failed := strconv.ParseFloat(text, 64); err != nil && failed == nil && whole == math.Trunc(whole) && math.Abs(whole) <= math.MaxInt32 {
		n, err = int64(whole), nil // 5.0 is an integer in JSON
	}
	if err != nil {
		return protoreflect.Value{}, fmt.Errorf("%s: want a whole number of at most %d", excerpt([]byte(text)), math.MaxInt32)
	}
	return protoreflect.ValueOfInt32(int32(n)), nil
}

// text decodes a value that is a text in a document, or in a query.
func (f *field) text(text string) (none protoreflect.Value, err error) {
	switch f.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(text), nil
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		return f.number(text)
	case protoreflect.BoolKind:
		if text != "true" && text != "false" {
			return none, fmt.Errorf("%.40q: want true or false", text)
		}
		return protoreflect.ValueOfBool(text == "true"), nil
	case protoreflect.EnumKind:
		n := slices.Index(f.words, text)
		if n < 0 {
			return none, fmt.Errorf("%.40q: want one of %s", text, strings.Join(f.words, ", "))
		}
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(n)), nil
	case protoreflect.Uint64Kind:
		if f.as == "Token" {
			token, err := holdfast.ParseToken(text)
			return protoreflect.ValueOfUint64(uint64(token)), err
		}
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return none, fmt.Errorf("%.40q: want a decimal number", text)
		}
		return protoreflect.ValueOfUint64(n), nil
	}
	if f.isDuration() {
		d, err := time.ParseDuration(text)
		if err != nil {
			return none, fmt.Errorf("%.60q: want a %s", text, f.shape())
		}
		return protoreflect.ValueOfMessage(durationpb.New(d).ProtoReflect()), nil
	}
	var t Time
	if err := t.UnmarshalText([]byte(text)); err != nil || t.IsZero() {
		return none, err
	}
	return protoreflect.ValueOfMessage(timestamppb.New(t.Time).ProtoReflect()), nil
}

// ReadText decodes the value of a field in a path or a query. It reports false for an unknown field; the error then
// lists the known ones.
func (j *JSON) ReadText(name, text string, into proto.Message, bound ...string) (known bool, names string, err error) {
	message := into.ProtoReflect()
	d := j.documents[message.Descriptor().FullName()]
	f := d.byName[name]
	if f == nil || !f.taken(bound) {
		return false, d.names(bound), nil
	}
	v, err := f.text(text)
	if err != nil {
		return true, "", fmt.Errorf("%s %w", name, err)
	}
	message.Set(f.FieldDescriptor, v)
	return true, "", nil
}

// SetCaller sets the caller in a message, if it has a field for that.
func (j *JSON) SetCaller(in proto.Message, caller string) {
	message := in.ProtoReflect()
	for _, f := range j.documents[message.Descriptor().FullName()].fields {
		if f.as == Caller {
			message.Set(f.FieldDescriptor, protoreflect.ValueOfString(caller))
		}
	}
}
