package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/pluginpb"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

//go:embed base.json
var base []byte

func main() {
	protogen.Options{}.Run(func(plugin *protogen.Plugin) error {
		plugin.SupportedFeatures = uint64(pluginpb.CodeGeneratorResponse_FEATURE_PROTO3_OPTIONAL)
		d := &document{messages: map[protoreflect.FullName]*protogen.Message{}, enums: map[protoreflect.FullName]*protogen.Enum{}, done: map[string]bool{}}
		if err := json.Unmarshal(base, &d.base); err != nil {
			return fmt.Errorf("base.json: %w", err)
		}
		for _, file := range plugin.Files {
			for _, message := range file.Messages {
				d.messages[message.Desc.FullName()] = message
			}
			for _, enum := range file.Enums {
				d.enums[enum.Desc.FullName()] = enum
			}
		}
		for _, file := range plugin.Files {
			for _, service := range file.Services {
				if !file.Generate {
					continue
				}
				if err := d.service(service); err != nil {
					return err
				}
			}
		}
		d.message(d.messages[(&schema.ProblemDocument{}).ProtoReflect().Descriptor().FullName()], nil)
		text, err := d.text()
		if err != nil {
			return err
		}
		_, err = plugin.NewGeneratedFile("openapi.json", "").Write(text)
		return err
	})
}

// object is a JSON object with ordered members.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	text := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			text = append(text, ',')
		}
		value, err := plain(m.value)
		if err != nil {
			return nil, err
		}
		text = append(append(strconv.AppendQuote(text, m.name), ':'), value...)
	}
	return append(text, '}'), nil
}

// plain encodes without HTML escapes.
func plain(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSpace(text.Bytes()), err
}

// document is the OpenAPI document.
type document struct {
	base struct {
		OpenAPI    string          `json:"openapi"`
		Info       json.RawMessage `json:"info"`
		Servers    json.RawMessage `json:"servers"`
		Tags       []any           `json:"tags"`
		Paths      map[string]any  `json:"paths"`
		Components struct {
			Responses json.RawMessage           `json:"responses"`
			Schemas   map[string]map[string]any `json:"schemas"` // the scalar types, and additions to those of messages
		} `json:"components"`
	}
	messages map[protoreflect.FullName]*protogen.Message
	enums    map[protoreflect.FullName]*protogen.Enum

	tags    []any
	paths   object
	schemas object
	done    map[string]bool // generated schemas
}

// text returns the whole document.
func (d *document) text() ([]byte, error) {
	for _, path := range sorted(d.base.Paths) {
		d.paths = append(d.paths, member{path, d.base.Paths[path]})
	}
	for _, name := range sorted(d.base.Components.Schemas) {
		if !d.done[name] {
			d.schemas = append(d.schemas, member{name, d.base.Components.Schemas[name]})
		}
	}
	slices.SortFunc(d.schemas, func(a, b member) int { return strings.Compare(a.name, b.name) })
	text, err := plain(object{
		{"openapi", d.base.OpenAPI}, {"info", d.base.Info}, {"servers", d.base.Servers}, {"tags", append(d.tags, d.base.Tags...)},
		{"security", []any{object{}, object{{"token", []string{}}}}},
		{"paths", d.paths},
		{"components", object{
			{"responses", d.base.Components.Responses}, {"schemas", d.schemas},
			{"securitySchemes", object{{"token", object{
				{"type", "http"}, {"scheme", "bearer"}, {"description", "A token of holdfast token create, or a JWT of an issuer that the members trust."},
			}}}},
		}},
	})
	if err != nil {
		return nil, err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", "  "); err != nil {
		return nil, err
	}
	return append(indented.Bytes(), '\n'), nil
}

func sorted[V any](of map[string]V) (names []string) {
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// service adds the calls of a service that have an HTTP rule. Each call of clients must name the right that it takes.
func (d *document) service(service *protogen.Service) error {
	begun := false
	for _, method := range service.Methods {
		if service.GoName != "Members" && callOf(method).GetVerb() == "" {
			return fmt.Errorf("%s: say which right the call takes, as in option (call) = {verb: \"read\"}", method.Desc.FullName())
		}
		rule, _ := proto.GetExtension(method.Desc.Options(), annotations.E_Http).(*annotations.HttpRule)
		if rule == nil {
			continue
		}
		if !begun {
			begun = true
			d.tags = append(d.tags, object{{"name", service.GoName}, {"description", comment(service.Comments)}})
		}
		path := strings.ReplaceAll(rule.GetGet()+rule.GetPost(), "=**}", "}")
		verb := map[bool]string{true: "post", false: "get"}[rule.GetPost() != ""]
		d.path(path, member{verb, d.operation(service, method, path, verb == "post")})
	}
	return nil
}

func callOf(method *protogen.Method) *schema.Call {
	call, _ := proto.GetExtension(method.Desc.Options(), schema.E_Call).(*schema.Call)
	return call
}

// right describes the right that a call takes.
func right(call *schema.Call) string {
	switch verb := call.GetVerb(); {
	case verb == "anyone":
		return "Every caller may."
	case verb == "session":
		return "The secret of the session decides."
	case call.GetSome():
		return "It takes the right " + verb + " for some name."
	default:
		return "It takes the right " + verb + "."
	}
}

// path adds a call to those of its path.
func (d *document) path(path string, call member) {
	for i := range d.paths {
		if calls, is := d.paths[i].value.(object); is && d.paths[i].name == path {
			d.paths[i].value = append(calls, call)
			return
		}
	}
	d.paths = append(d.paths, member{path, object{call}})
}

func (d *document) operation(service *protogen.Service, method *protogen.Method, path string, posted bool) object {
	summary, rest, _ := strings.Cut(comment(method.Comments), ". ")
	o := object{{"operationId", strings.ToLower(method.GoName[:1]) + method.GoName[1:]}, {"tags", []string{service.GoName}}, {"summary", strings.TrimSuffix(summary, ".") + "."}}
	o = append(o, member{"description", strings.TrimSpace(rest + " " + right(callOf(method)))})
	var parameters []any
	var bound []string
	for _, field := range method.Input.Fields {
		name := string(field.Desc.Name())
		in := "query"
		if strings.Contains(path, "{"+name+"}") {
			in, bound = "path", append(bound, name)
		} else if posted {
			continue
		}
		parameters = append(parameters, object{
			{"name", name}, {"in", in}, {"required", in == "path"}, {"description", comment(field.Comments)}, {"schema", d.value(field, true)},
		})
	}
	if len(parameters) > 0 {
		o = append(o, member{"parameters", parameters})
	}
	if posted {
		o = append(o, member{"requestBody", object{{"required", true}, {"content", object{{"application/json", object{{"schema", d.message(method.Input, bound)}}}}}}})
	}
	return append(o, member{"responses", d.answers(method, posted)})
}

// answers returns the possible answers of a call.
func (d *document) answers(method *protogen.Method, posted bool) object {
	options := callOf(method)
	kind, answer := "application/json", d.message(method.Output, nil)
	if options.GetEvents() {
		kind, answer = "text/event-stream", reference("schemas", "ServerSent"+string(method.Output.Desc.Name()))
	}
	if alone := options.GetAlone(); alone != "" {
		one := method.Output.Desc.Fields().ByName(protoreflect.Name(alone)).Message()
		answer = object{{"oneOf", []any{d.message(d.messages[one.FullName()], nil), answer}}}
	}
	all := object{{"200", object{{"description", comment(method.Output.Comments)}, {"content", object{{kind, object{{"schema", answer}}}}}}}}
	statuses := []int{
		http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable,
	}
	if posted {
		statuses = append(statuses, http.StatusRequestEntityTooLarge)
	}
	for _, code := range options.GetProblems() {
		statuses = append(statuses, api.HTTPStatus(code))
	}
	slices.Sort(statuses)
	for _, status := range slices.Compact(statuses) {
		text := strconv.Itoa(status)
		all = append(all, member{text, reference("responses", text)})
	}
	return all
}

func reference(kind, name string) object {
	return object{{"$ref", "#/components/" + kind + "/" + name}}
}

// message returns a reference to the schema of a message, generating it if necessary. The bound fields are in the path.
func (d *document) message(m *protogen.Message, bound []string) object {
	name := string(m.Desc.Name())
	if d.done[name] {
		return reference("schemas", name)
	}
	d.done[name] = true
	asked := strings.HasSuffix(name, "Request")
	properties, required, example := object{}, []string{}, object{}
	for _, field := range m.Fields {
		as, must, sparse := optionsOf(field)
		if as == api.Caller || slices.Contains(bound, string(field.Desc.Name())) {
			continue
		}
		value := d.value(field, asked)
		if text := comment(field.Comments); text != "" {
			value = append(object{{"description", text}}, value...)
		}
		properties = append(properties, member{string(field.Desc.Name()), value})
		if must || !asked && !sparse && !field.Desc.HasPresence() {
			required = append(required, string(field.Desc.Name()))
		}
		if examples, _ := d.base.Components.Schemas[as]["examples"].([]any); must && len(examples) > 0 {
			example = append(example, member{string(field.Desc.Name()), examples[0]})
		}
	}
	o := object{{"type", "object"}, {"description", comment(m.Comments)}, {"additionalProperties", false}, {"required", required}, {"properties", properties}}
	more := d.base.Components.Schemas[name]
	for _, key := range sorted(more) {
		o = append(o, member{key, more[key]})
	}
	if asked && more["examples"] == nil {
		o = append(o, member{"examples", []any{example}})
	}
	d.schemas = append(d.schemas, member{name, o})
	return reference("schemas", name)
}

func optionsOf(field *protogen.Field) (as string, required, sparse bool) {
	as, _ = proto.GetExtension(field.Desc.Options(), schema.E_As).(string)
	required, _ = proto.GetExtension(field.Desc.Options(), schema.E_Required).(bool)
	sparse, _ = proto.GetExtension(field.Desc.Options(), schema.E_Sparse).(bool)
	return as, required, sparse
}

// value returns the schema of a field.
func (d *document) value(field *protogen.Field, asked bool) object {
	switch {
	case field.Desc.IsMap():
		return object{{"type", "object"}, {"additionalProperties", object{{"type", "string"}}}}
	case field.Desc.IsList():
		list := object{{"type", "array"}, {"items", d.one(field, asked)}}
		if asked {
			list = append(list, member{"minItems", 1}, member{"maxItems", 1000}) // a member may allow fewer
		}
		return list
	}
	return d.one(field, asked)
}

func (d *document) one(field *protogen.Field, asked bool) object {
	as, _, _ := optionsOf(field)
	if as != "" {
		return reference("schemas", as)
	}
	switch field.Desc.Kind() {
	case protoreflect.BoolKind:
		if asked {
			return object{{"type", "boolean"}, {"default", false}}
		}
		return object{{"type", "boolean"}}
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		return object{{"type", "integer"}, {"minimum", 0}}
	case protoreflect.Uint64Kind:
		return reference("schemas", "Uint64")
	case protoreflect.EnumKind:
		return d.enum(d.enums[field.Enum.Desc.FullName()])
	case protoreflect.MessageKind:
		switch field.Message.Desc.FullName() {
		case "google.protobuf.Timestamp":
			return reference("schemas", "Time")
		case "google.protobuf.Duration":
			return reference("schemas", "Duration")
		}
		return d.message(d.messages[field.Message.Desc.FullName()], nil)
	}
	return object{{"type", "string"}}
}

func (d *document) enum(e *protogen.Enum) object {
	name := string(e.Desc.Name())
	if !d.done[name] {
		d.done[name] = true
		d.schemas = append(d.schemas, member{name, object{{"type", "string"}, {"description", comment(e.Comments)}, {"enum", api.Words(e.Desc)}}})
	}
	return reference("schemas", name)
}

// comment returns the leading comment, on one line.
func comment(c protogen.CommentSet) string {
	return strings.Join(strings.Fields(string(c.Leading)), " ")
}
