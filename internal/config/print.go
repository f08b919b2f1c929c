package config

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// PrintConfig writes the configuration as a file that Load reads back, in the order of Keys, one key a line, each with
// a comment about its origin. A key that cannot be in a file (config, an expect that was not given) becomes a comment.
// Passwords in the URLs of stores are replaced by xxxxx.
func (c *Config) PrintConfig(w io.Writer) error {
	var b strings.Builder
	section := ""
	for _, key := range Keys() {
		outer, inner, nested := strings.Cut(key.Name, ".")
		if nested && outer != section {
			b.WriteString(outer + ":\n")
		}
		section = outer
		switch {
		case key.Kind == Spaces:
			b.WriteString("spaces:\n")
			for _, space := range c.Spaces {
				line(&b, "  "+scalar(space.Name)+": "+formatSpace(space), c.originOf("spaces."+space.Name))
			}
		case nested:
			line(&b, "  "+inner+": "+c.value(key), c.originOf(key.Name))
		case !key.InFile:
			line(&b, "# --"+key.Flag+": "+c.value(key), c.originOf(key.Name))
		case key.Kind == Count && key.format(c) == "":
			line(&b, "# "+key.Name+": not given", c.originOf(key.Name))
		default:
			line(&b, key.Name+": "+c.value(key), c.originOf(key.Name))
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("print configuration: %w", err)
	}
	return nil
}

func line(b *strings.Builder, text, origin string) {
	fmt.Fprintf(b, "%s    # %s\n", text, origin)
}

// value returns a key's value in YAML.
func (c *Config) value(key Key) string {
	switch key.Kind {
	case Text:
		return scalar(key.format(c))
	case List:
		var items []string
		for item := range strings.SplitSeq(key.format(c), key.Separator) {
			if item != "" {
				items = append(items, scalar(item))
			}
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return key.format(c)
}

func formatSpace(s Space) string {
	text := "{protocol: " + scalar(s.Protocol)
	for _, name := range slices.Sorted(maps.Keys(s.Options)) {
		value := s.Options[name]
		if name == storeOption {
			value = redacted(name, value)
		}
		text += ", " + scalar(name) + ": " + scalar(value)
	}
	return text + "}"
}

// scalar returns a text plain if every YAML reader takes it for that text, and quoted otherwise. A JSON string is a
// YAML string.
func scalar(text string) string {
	plain := regexp.MustCompile(`^[A-Za-z0-9/][A-Za-z0-9._/:+-]*$`)
	var node yaml.Node
	if plain.MatchString(text) && yaml.Unmarshal([]byte(text), &node) == nil &&
		len(node.Content) == 1 && node.Content[0].Kind == yaml.ScalarNode && node.Content[0].ShortTag() == "!!str" {
		return text
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		panic("config: quote a text: " + err.Error()) // a string always marshals
	}
	return string(quoted)
}
