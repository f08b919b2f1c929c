package token

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Limits of a file and of a record.
const (
	MostRecords = 10_000
	MostName    = 100 // bytes
	mostBytes   = 4 << 20
)

// Record is what a member knows about a token.
type Record struct {
	// Name identifies the token for people and for policies: 1 to 100 letters, digits and the characters . _ - of
	// ASCII, the first of which is a letter or a digit.
	Name string
	// Sum is the digest of its secret.
	Sum Sum
	// Created is the time of its creation, to the second.
	Created time.Time
	// Expires is the time from which on the token is refused. Zero means never.
	Expires time.Time
}

// Expired reports whether the token is refused at that time.
func (r Record) Expired(now time.Time) bool { return !r.Expires.IsZero() && !now.Before(r.Expires) }

// SyntaxError is a mistake in a file of tokens.
type SyntaxError struct {
	Line int // from 1; 0 means the whole file
	Text string
}

// Error returns a sentence.
func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return e.Text
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Text)
}

func syntaxError(at *yaml.Node, format string, arguments ...any) error {
	return &SyntaxError{at.Line, fmt.Sprintf(format, arguments...)}
}

// CheckName returns what is wrong with a token's name.
func CheckName(name string) error {
	allowed := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	}
	inner := func(r rune) bool { return allowed(r) || strings.ContainsRune("._-", r) }
	switch {
	case name == "":
		return errors.New("the name of a token is empty; give one, like ci")
	case len(name) > MostName:
		return fmt.Errorf("the name of a token has %d bytes; at most %d are allowed", len(name), MostName)
	case !allowed(rune(name[0])), strings.ContainsFunc(name, func(r rune) bool { return !inner(r) }):
		return fmt.Errorf("the name %q of a token is not allowed; use letters, digits, dots, dashes and underscores of ASCII, "+
			"beginning with a letter or a digit", name)
	}
	return nil
}

// Parse reads the content of a file. An empty one has no tokens. The error is a *SyntaxError.
func Parse(data []byte) ([]Record, error) {
	if len(data) > mostBytes {
		return nil, &SyntaxError{0, fmt.Sprintf("the file has %d bytes; at most %d are allowed", len(data), mostBytes)}
	}
	var document, more yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, &SyntaxError{0, "the file is not YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, syntaxError(&more, "the file has a second document; keep one")
	}
	top := document.Content[0]
	if top.ShortTag() == "!!null" {
		return nil, nil
	}
	fields, err := mapping(top, "the file", "tokens")
	if err != nil {
		return nil, err
	}
	list := fields["tokens"]
	switch {
	case list == nil, list.ShortTag() == "!!null":
		return nil, nil
	case list.Kind != yaml.SequenceNode:
		return nil, syntaxError(list, "tokens is not a list; write each token as - name: NAME")
	case len(list.Content) > MostRecords:
		return nil, syntaxError(list, "the file has %d tokens; at most %d are allowed", len(list.Content), MostRecords)
	}
	return records(list.Content)
}

// records parses the tokens of a file, each of which has its own name and digest.
func records(nodes []*yaml.Node) ([]Record, error) {
	var all []Record
	names, sums := map[string]int{}, map[Sum]int{}
	for _, node := range nodes {
		r, err := parseRecord(node)
		if err != nil {
			return nil, err
		}
		if before, taken := names[r.Name]; taken {
			return nil, syntaxError(node, "the token %q is also in line %d; remove one of them", r.Name, before)
		}
		if before, taken := sums[r.Sum]; taken {
			return nil, syntaxError(node, "the token %q has the sha256 of the one in line %d; remove one of them", r.Name, before)
		}
		names[r.Name], sums[r.Sum] = node.Line, node.Line
		all = append(all, r)
	}
	return all, nil
}

func parseRecord(node *yaml.Node) (r Record, err error) {
	fields, err := mapping(node, "a token", "name", "sha256", "created", "expires")
	if err != nil {
		return r, err
	}
	for _, needed := range []string{"name", "sha256", "created"} {
		if fields[needed] == nil {
			return r, syntaxError(node, "a token has no %s; add it, or create the token with 'holdfast token create'", needed)
		}
	}
	for key, field := range fields {
		if field.Kind != yaml.ScalarNode {
			return r, syntaxError(field, "%s is not a text", key)
		}
	}
	r.Name = fields["name"].Value
	if err := CheckName(r.Name); err != nil {
		return r, syntaxError(fields["name"], "%v", err)
	}
	sum, err := hex.DecodeString(fields["sha256"].Value)
	if err != nil || len(sum) != len(r.Sum) {
		// The value is not repeated: it may be the secret itself.
		return r, syntaxError(fields["sha256"], "the sha256 of token %q is not 64 hexadecimal digits; give the digest and not the secret", r.Name)
	}
	copy(r.Sum[:], sum)
	if r.Created, err = parseTime(r.Name, "created", fields["created"]); err != nil {
		return r, err
	}
	if fields["expires"] != nil {
		r.Expires, err = parseTime(r.Name, "expires", fields["expires"])
	}
	return r, err
}

func parseTime(name, key string, node *yaml.Node) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, node.Value)
	if err != nil || !isWritable(at) {
		return time.Time{}, syntaxError(node, "%s of token %q is %.40q; write a time like 2026-11-30T20:00:00Z", key, name, node.Value)
	}
	return at.UTC().Truncate(time.Second), nil
}

// isWritable reports whether a time can be written in RFC 3339 and is not the zero time, which means none.
func isWritable(t time.Time) bool {
	t = t.UTC().Truncate(time.Second)
	return !t.IsZero() && t.Year() >= 0 && t.Year() <= 9999
}

// mapping returns the fields of a mapping, whose keys must be known and different.
func mapping(node *yaml.Node, what string, known ...string) (map[string]*yaml.Node, error) {
	if node.Kind != yaml.MappingNode {
		return nil, syntaxError(node, "%s is not a mapping; write %s: …", what, known[0])
	}
	fields := map[string]*yaml.Node{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode || !slices.Contains(known, key.Value):
			return nil, syntaxError(key, "%s has no key %.40q; its keys are %s", what, key.Value, strings.Join(known, ", "))
		case fields[key.Value] != nil:
			return nil, syntaxError(key, "%s has the key %s twice; remove one of them", what, key.Value)
		}
		fields[key.Value] = node.Content[i+1]
	}
	return fields, nil
}

// header begins a file that was written by this package.
const header = "# Tokens of Holdfast's clients: holdfast token create, list, revoke. It has no secrets, only their digests.\n"

// Format returns the content of a file with those records, in order of their names.
func Format(records []Record) []byte {
	sorted := slices.SortedFunc(slices.Values(records), func(a, b Record) int { return cmp.Compare(a.Name, b.Name) })
	var b bytes.Buffer
	b.WriteString(header)
	if len(sorted) == 0 {
		b.WriteString("tokens: []\n")
		return b.Bytes()
	}
	b.WriteString("tokens:\n")
	for _, r := range sorted {
		// A name may look like a number or a boolean, so it is quoted. Its characters need no escapes.
		fmt.Fprintf(&b, "  - name: %q\n    sha256: %q\n    created: %s\n", r.Name, r.Sum, r.Created.UTC().Format(time.RFC3339))
		if !r.Expires.IsZero() {
			fmt.Fprintf(&b, "    expires: %s\n", r.Expires.UTC().Format(time.RFC3339))
		}
	}
	return b.Bytes()
}
