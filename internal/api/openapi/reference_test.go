package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/test/golden"
)

// page is where the reference of the HTTP API is.
const page = "../../../docs/api.md"

// schemaOf is a JSON schema, as far as the reference shows it.
type schemaOf struct {
	Ref         string               `json:"$ref"`
	Type        string               `json:"type"`
	Description string               `json:"description"`
	Enum        []string             `json:"enum"`
	Properties  map[string]*schemaOf `json:"properties"`
	Required    []string             `json:"required"`
	Items       *schemaOf            `json:"items"`
	OneOf       []*schemaOf          `json:"oneOf"`
	Additional  any                  `json:"additionalProperties"`
	Examples    []any                `json:"examples"`
}

type content map[string]struct{ Schema *schemaOf }

type described struct {
	Tags []struct{ Name, Description string }
	// The calls, by path and method.
	Paths map[string]map[string]struct {
		Tags                 []string
		Summary, Description string
		Parameters           []struct {
			Name, In, Description string
			Schema                *schemaOf
		}
		RequestBody *struct{ Content content } `json:"requestBody"`
		Responses   map[string]struct {
			Ref     string `json:"$ref"`
			Content content
		}
	}
	Components struct {
		Schemas map[string]*schemaOf
	}
}

// TestReference compares the page with the document; -rewrite writes it.
func TestReference(t *testing.T) {
	d := &described{}
	if err := json.Unmarshal(Document, d); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	text.WriteString("# HTTP API\n\nWritten by `go test ./internal/api/openapi -run TestReference -rewrite` from the OpenAPI document, which every member serves at `/v1/openapi.json`. " +
		"[http.md](http.md) says how to use it. A field with an asterisk is always there, or must be given.\n")
	for _, tag := range d.Tags {
		fmt.Fprintf(&text, "\n## %s\n\n%s\n", tag.Name, tag.Description)
		for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
			d.calls(&text, tag.Name, path)
		}
	}
	text.WriteString("\n## Bodies\n")
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		d.body(&text, name)
	}
	golden.Match(t, page, text.String())
}

// calls writes the calls of a tag at a path.
func (d *described) calls(to *strings.Builder, tag, path string) {
	for _, verb := range slices.Sorted(maps.Keys(d.Paths[path])) {
		call := d.Paths[path][verb]
		if !slices.Contains(call.Tags, tag) {
			continue
		}
		fmt.Fprintf(to, "\n### %s %s\n%s\n\n", strings.ToUpper(verb), path, strings.TrimSpace(call.Summary+" "+call.Description))
		for _, p := range call.Parameters {
			fmt.Fprintf(to, "- `%s` (%s, %s): %s\n", p.Name, p.In, p.Schema.shape(), p.Description)
		}
		if call.RequestBody != nil {
			fmt.Fprintf(to, "- body: %s\n", call.RequestBody.Content["application/json"].Schema.shape())
		}
		var refused []string
		for _, status := range slices.Sorted(maps.Keys(call.Responses)) {
			if answer := call.Responses[status]; answer.Ref == "" {
				for kind, one := range answer.Content {
					fmt.Fprintf(to, "- %s: %s (%s)\n", status, one.Schema.shape(), kind)
				}
			} else {
				refused = append(refused, status)
			}
		}
		fmt.Fprintf(to, "- %s: [ProblemDocument](#problemdocument)\n", strings.Join(refused, ", "))
	}
}

// body writes one schema.
func (d *described) body(to *strings.Builder, name string) {
	s := d.Components.Schemas[name]
	fmt.Fprintf(to, "\n### %s\n%s\n\n", name, s.Description)
	if len(s.Enum) > 0 {
		fmt.Fprintf(to, "- one of `%s`\n", strings.Join(s.Enum, "`, `"))
	}
	for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
		always := ""
		if slices.Contains(s.Required, field) {
			always = "*"
		}
		line := fmt.Sprintf("- `%s`%s (%s): %s", field, always, s.Properties[field].shape(), s.Properties[field].Description)
		fmt.Fprintln(to, strings.TrimSuffix(line, ": "))
	}
	if len(s.Examples) > 0 {
		if example, err := json.Marshal(s.Examples[0]); err == nil && string(example) != "{}" {
			fmt.Fprintf(to, "- example: `%s`\n", example)
		}
	}
}

// shape is what a schema is called.
func (s *schemaOf) shape() string {
	switch {
	case s.Ref != "":
		name := s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
		return "[" + name + "](#" + strings.ToLower(name) + ")"
	case len(s.OneOf) > 0:
		var all []string
		for _, one := range s.OneOf {
			all = append(all, one.shape())
		}
		return strings.Join(all, " or ")
	case s.Items != nil:
		return "list of " + s.Items.shape()
	}
	return s.Type
}
