package server

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/openapi"
)

// contract is the OpenAPI document, as far as the tests look into it. Its schemas
// use the words of JSON Schema that jsonSchema has, and no others.
type contract struct {
	Paths      map[string]map[string]operation `json:"paths"`
	Components struct {
		Schemas   map[string]*jsonSchema `json:"schemas"`
		Responses map[string]response    `json:"responses"`
	} `json:"components"`
}

type operation struct {
	Parameters []struct {
		Name   string      `json:"name"`
		In     string      `json:"in"`
		Schema *jsonSchema `json:"schema"`
	} `json:"parameters"`
	RequestBody *struct {
		Content map[string]media `json:"content"`
	} `json:"requestBody"`
	Responses map[string]response `json:"responses"`
}

type response struct {
	Ref     string           `json:"$ref"`
	Content map[string]media `json:"content"`
}

type media struct {
	Schema *jsonSchema `json:"schema"`
}

type jsonSchema struct {
	Ref         string                 `json:"$ref"`
	Type        string                 `json:"type"`
	Description string                 `json:"description"`
	Format      string                 `json:"format"`
	Default     any                    `json:"default"`
	Properties  map[string]*jsonSchema `json:"properties"`
	Required    []string               `json:"required"`
	Additional  any                    `json:"additionalProperties"`
	Items       *jsonSchema            `json:"items"`
	MinItems    int                    `json:"minItems"`
	MaxItems    int                    `json:"maxItems"`
	Enum        []any                  `json:"enum"`
	Pattern     string                 `json:"pattern"`
	MinLength   int                    `json:"minLength"`
	MaxLength   *int                   `json:"maxLength"`
	Minimum     *float64               `json:"minimum"`
	Maximum     *float64               `json:"maximum"`
	OneOf       []*jsonSchema          `json:"oneOf"`
	If          *jsonSchema            `json:"if"`
	Then        *jsonSchema            `json:"then"`
	Else        *jsonSchema            `json:"else"`
	Not         *jsonSchema            `json:"not"`
	Examples    []any                  `json:"examples"`
	MediaType   string                 `json:"contentMediaType"`
	Content     *jsonSchema            `json:"contentSchema"`
}

func readContract(t testing.TB) *contract {
	t.Helper()
	c := &contract{}
	must(t, json.Unmarshal(openapi.Document, c))
	// What a schema says in words that the tests do not know would go unchecked.
	var all struct {
		Components struct{ Schemas map[string]json.RawMessage }
	}
	must(t, json.Unmarshal(openapi.Document, &all))
	for name, raw := range all.Components.Schemas {
		decoder := json.NewDecoder(strings.NewReader(string(raw)))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&jsonSchema{}); err != nil {
			t.Fatalf("schema %s: %v", name, err)
		}
	}
	return c
}

// operation finds what the document says about a request.
func (c *contract) operation(method, path string) (string, *operation) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for template, methods := range c.Paths {
		want := strings.Split(strings.TrimPrefix(template, "/"), "/")
		if len(parts) < len(want) || len(parts) > len(want) && want[len(want)-1] != "{name}" {
			continue
		}
		fits := true
		for i := range want {
			fits = fits && (want[i] == parts[i] || strings.HasPrefix(want[i], "{"))
		}
		if op, ok := methods[strings.ToLower(method)]; fits && ok {
			return template, &op
		}
	}
	return "", nil
}

func (c *contract) response(op *operation, status int) (response, bool) {
	r, ok := op.Responses[fmt.Sprint(status)]
	if name, referred := strings.CutPrefix(r.Ref, "#/components/responses/"); referred {
		r, ok = c.Components.Responses[name]
	}
	return r, ok
}

// check says where value does not fit s.
func (c *contract) check(s *jsonSchema, value any, at string) error {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		target := c.Components.Schemas[name]
		if target == nil {
			return fmt.Errorf("%s: no schema %s", at, name)
		}
		return c.check(target, value, at)
	}
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, value) {
		return fmt.Errorf("%s: %v is none of %v", at, value, s.Enum)
	}
	if err := c.checkOneOf(s, value, at); err != nil {
		return err
	}
	if err := c.checkIf(s, value, at); err != nil {
		return err
	}
	switch s.Type {
	case "":
		return c.checkRequired(s, value, at)
	case "object":
		return c.checkObject(s, value, at)
	case "array":
		list, ok := value.([]any)
		if !ok || len(list) < s.MinItems {
			return fmt.Errorf("%s: %v: want a list of at least %d", at, value, s.MinItems)
		}
		for i, item := range list {
			if err := c.check(s.Items, item, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case "string":
		if err := c.checkString(s, value, at); err != nil || s.Content == nil {
			return err
		}
		var content any
		if err := json.Unmarshal([]byte(value.(string)), &content); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		return c.check(s.Content, content, at)
	case "integer":
		n, ok := value.(float64)
		if !ok || n != math.Trunc(n) || s.Minimum != nil && n < *s.Minimum || s.Maximum != nil && n > *s.Maximum {
			return fmt.Errorf("%s: %v: want a whole number within its bounds", at, value)
		}
	case "boolean":
		if _, ok := value.(bool); !ok {
			return fmt.Errorf("%s: %v: want a boolean", at, value)
		}
	default:
		return fmt.Errorf("%s: type %q is not known here", at, s.Type)
	}
	return nil
}

func (c *contract) checkOneOf(s *jsonSchema, value any, at string) error {
	fits := 0
	var last error
	for _, one := range s.OneOf {
		if err := c.check(one, value, at); err != nil {
			last = err
		} else {
			fits++
		}
	}
	if len(s.OneOf) > 0 && fits != 1 {
		return fmt.Errorf("%s: fits %d of %d alternatives: %v", at, fits, len(s.OneOf), last)
	}
	return nil
}

func (c *contract) checkIf(s *jsonSchema, value any, at string) error {
	if s.Not != nil && c.check(s.Not, value, at) == nil {
		return fmt.Errorf("%s: %v fits what it must not", at, value)
	}
	switch {
	case s.If == nil:
		return nil
	case c.check(s.If, value, at) == nil:
		return c.check(s.Then, value, at)
	}
	return c.check(s.Else, value, at)
}

func (c *contract) checkRequired(s *jsonSchema, value any, at string) error {
	object, _ := value.(map[string]any)
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			return fmt.Errorf("%s: %s is missing", at, name)
		}
	}
	return nil
}

func (c *contract) checkObject(s *jsonSchema, value any, at string) error {
	object, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: %v: want an object", at, value)
	}
	if err := c.checkRequired(s, value, at); err != nil {
		return err
	}
	for name, field := range object {
		property := s.Properties[name]
		if property == nil {
			if s.Additional == false {
				return fmt.Errorf("%s: %s is not in the document", at, name)
			}
			continue
		}
		if err := c.check(property, field, at+"."+name); err != nil {
			return err
		}
	}
	return nil
}

// spelled reports whether a text is taken of which the document has less: a length of time in another spelling, or a text that
// has as many bytes as are allowed and more than a quarter of the characters.
func (c *contract) spelled(s *jsonSchema, text string) bool {
	is := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return c.Components.Schemas[name].Pattern == s.Pattern })
	}
	switch {
	case is("Patience", "Lifetime", "Limit"):
		_, err := time.ParseDuration(text)
		return err == nil
	case is("Name"):
		return holdfast.CheckName(text) == nil
	case is("Text", "Reason", "MemberName"):
		return holdfast.CheckText("text", text) == nil
	}
	return false
}

func (c *contract) checkString(s *jsonSchema, value any, at string) error {
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf("%s: %v: want a string", at, value)
	}
	if n := utf8.RuneCountInString(text); n < s.MinLength || s.MaxLength != nil && n > *s.MaxLength {
		return fmt.Errorf("%s: %q has %d characters", at, text, n)
	}
	if s.Pattern != "" && !c.spelled(s, text) {
		if fits, err := regexp.MatchString(s.Pattern, text); err != nil || !fits {
			return fmt.Errorf("%s: %q does not match %s (%v)", at, text, s.Pattern, err)
		}
	}
	return nil
}

func TestDocumentMatchesRoutes(t *testing.T) {
	b := newWebHarness(t, nil)
	c, routes := b.contract, b.server.web.routes
	count := 0
	for _, methods := range c.Paths {
		count += len(methods)
	}
	if count != len(routes) {
		t.Errorf("the document has %d calls, the server %d", count, len(routes))
	}
	for _, route := range routes {
		path := "/" + strings.ReplaceAll(strings.Join(route.path, "/"), "=**}", "}")
		op, ok := c.Paths[path][strings.ToLower(route.method)]
		if !ok {
			t.Errorf("%s %s is not in the document", route.method, path)
			continue
		}
		var query []string
		for _, parameter := range op.Parameters {
			if parameter.In == "query" {
				query = append(query, parameter.Name)
			}
		}
		slices.Sort(query)
		want := "this call has none"
		if len(query) > 0 {
			want = "want one of " + strings.Join(query, ", ")
		}
		asked := strings.NewReplacer("{space}", "default", "{name}", "x").Replace(path) + "?unheard=of"
		refused, err := b.do(b.request(route.method, asked, "{}"))
		must(t, err)
		if refused.status != 400 || !strings.HasSuffix(refused.text("detail"), `unknown query parameter "unheard": `+want) {
			t.Errorf("%s %s answers %s, and the document has the parameters %v", route.method, asked, refused.raw, query)
		}
		if (op.RequestBody != nil) != (route.method == "POST") {
			t.Errorf("%s %s: has a body or not?", route.method, path)
		}
	}
}
