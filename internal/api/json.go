package api

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// Caller is the type of a field for the caller: a member fills it in for calls over HTTP.
const Caller = "Caller"

// JSON encodes and decodes the messages of the schema as documents of the HTTP API, by its options: names as in the
// schema, a duration in Go's format, a time with nine digits of a second, an enum as a lower-case word, a uint64 in
// quotes. It is safe for concurrent use.
type JSON struct {
	documents map[protoreflect.FullName]*document
}

// document describes a message type.
type document struct {
	fields []*field
	byName map[string]*field
}

// field describes one of its fields.
type field struct {
	protoreflect.FieldDescriptor
	key      string // its JSON key
	as       string // type of its text, as named in the schema
	always   bool   // it is written even if it is not set
	document *document
	words    []string // of an enum, by number
}

// NewJSON returns a JSON for all messages of the schema.
func NewJSON() *JSON {
	j := &JSON{map[protoreflect.FullName]*document{}}
	for _, file := range []protoreflect.FileDescriptor{schema.File_locks_proto, schema.File_access_proto, schema.File_admin_proto, schema.File_status_proto} {
		for i := range file.Messages().Len() {
			j.document(file.Messages().Get(i))
		}
	}
	return j
}

func (j *JSON) document(m protoreflect.MessageDescriptor) *document {
	if d := j.documents[m.FullName()]; d != nil {
		return d
	}
	d := &document{byName: map[string]*field{}}
	j.documents[m.FullName()] = d
	for i := range m.Fields().Len() {
		f := &field{FieldDescriptor: m.Fields().Get(i)}
		f.key = strconv.Quote(string(f.Name())) + ":"
		f.as, _ = proto.GetExtension(f.Options(), schema.E_As).(string)
		required, _ := proto.GetExtension(f.Options(), schema.E_Required).(bool)
		sparse, _ := proto.GetExtension(f.Options(), schema.E_Sparse).(bool)
		f.always = required || !sparse && !f.HasPresence()
		switch {
		case f.IsMap():
		case f.Message() != nil:
			f.document = j.document(f.Message())
		case f.Enum() != nil:
			f.words = Words(f.Enum())
		}
		d.fields = append(d.fields, f)
		d.byName[string(f.Name())] = f
	}
	return d
}

// Words returns the words of an enum, by number: the names of its values without their common prefix.
func Words(e protoreflect.EnumDescriptor) (words []string) {
	prefix := strings.ToUpper(string(e.Name())) + "_"
	for i := range e.Values().Len() {
		words = append(words, strings.ToLower(strings.TrimPrefix(string(e.Values().Get(i).Name()), prefix)))
	}
	return words
}

// Append appends the document of a message.
func (j *JSON) Append(to []byte, m proto.Message) []byte {
	message := m.ProtoReflect()
	return j.documents[message.Descriptor().FullName()].append(to, message)
}

func (d *document) append(to []byte, m protoreflect.Message) []byte {
	to = append(to, '{')
	first := len(to)
	for _, f := range d.fields {
		if !f.always && !m.Has(f.FieldDescriptor) {
			continue
		}
		if len(to) > first {
			to = append(to, ',')
		}
		to = f.appendValue(append(to, f.key...), m.Get(f.FieldDescriptor))
	}
	return append(to, '}')
}

func (f *field) appendValue(to []byte, v protoreflect.Value) []byte {
	switch {
	case f.IsList():
		to = append(to, '[')
		for i, list := 0, v.List(); i < list.Len(); i++ {
			if i > 0 {
				to = append(to, ',')
			}
			to = f.appendOne(to, list.Get(i))
		}
		return append(to, ']')
	case f.IsMap():
		texts := map[string]string{}
		v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
			texts[k.String()] = v.String()
			return true
		})
		to = append(to, '{')
		for i, name := range slices.Sorted(maps.Keys(texts)) {
			if i > 0 {
				to = append(to, ',')
			}
			to = appendString(append(appendString(to, name), ':'), texts[name])
		}
		return append(to, '}')
	}
	return f.appendOne(to, v)
}

func (f *field) appendOne(to []byte, v protoreflect.Value) []byte {
	switch f.Kind() {
	case protoreflect.StringKind:
		return appendString(to, v.String())
	case protoreflect.BoolKind:
		return strconv.AppendBool(to, v.Bool())
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		return strconv.AppendInt(to, v.Int(), 10)
	case protoreflect.Uint64Kind:
		return append(strconv.AppendUint(append(to, '"'), v.Uint(), 10), '"')
	case protoreflect.EnumKind:
		if n := int(v.Enum()); 0 <= n && n < len(f.words) {
			return append(append(append(to, '"'), f.words[n]...), '"')
		}
		return append(strconv.AppendInt(append(to, '"'), int64(v.Enum()), 10), '"') // from a newer member
	}
	switch m := v.Message().Interface().(type) {
	case *timestamppb.Timestamp:
		to = append(to, '"')
		if m != nil {
			to = m.AsTime().AppendFormat(to, timeLayout)
		}
		return append(to, '"')
	case *durationpb.Duration:
		return append(append(append(to, '"'), m.AsDuration().String()...), '"')
	}
	return f.document.append(to, v.Message())
}

// appendString appends s as a JSON string. encoding/json handles escapes.
func appendString(to []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return appendEscaped(to, s)
		}
	}
	return append(append(append(to, '"'), s...), '"')
}

func appendEscaped(to []byte, s string) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // encoding a string into a bytes.Buffer never fails
	return append(to, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...)
}

// Stamp returns the timestamp of a time; nil for the zero time.
func Stamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// TimeOf returns the time of a timestamp; the zero time for nil.
func TimeOf(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

// Span returns the message of a duration.
func Span(d time.Duration) *durationpb.Duration { return durationpb.New(d) }
