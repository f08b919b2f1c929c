package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFileBytes bounds every file read here: a larger one is not ours.
const maxFileBytes = 1 << 20

// readFile reads a whole file of at most maxFileBytes.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("it has more than %d bytes", maxFileBytes)
	}
	return data, nil
}

// reason returns a file system error without the path, which the problem already names.
func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

// fileLayer reads the YAML file. "" is no file.
func (l *loader) fileLayer(path, origin string) layer {
	if path == "" {
		return layer{}
	}
	data, err := readFile(path)
	if err != nil {
		l.complain(Problem{"config", quote(path), origin, "it cannot be read: " + reason(err),
			"a YAML file that can be read", "correct the path or its permissions"})
		return layer{}
	}
	return l.document(path, data)
}

// document makes a layer of a YAML document. It uses the tree and not decoded values, for two reasons: a node has its
// line, and its text as written (name: 007 is "007").
func (l *loader) document(path string, data []byte) layer {
	d := &document{loader: l, path: path, layer: layer{}}
	decoder := yaml.NewDecoder(strings.NewReader(string(data)))
	var first, second yaml.Node
	err := decoder.Decode(&first)
	if errors.Is(err, io.EOF) {
		return d.layer // empty, or comments only
	}
	if err == nil {
		if err := decoder.Decode(&second); err == nil {
			d.reject("config", &second, "a second document begins here", "one YAML document", "join them")
			return d.layer
		} else if !errors.Is(err, io.EOF) {
			d.rejectSyntax(err)
			return d.layer
		}
		d.top(first.Content[0])
		return d.layer
	}
	d.rejectSyntax(err)
	return d.layer
}

// document is a YAML file being read.
type document struct {
	*loader
	path  string
	layer layer
}

// rejectSyntax adds a problem for invalid YAML: "yaml: line 3: …".
func (d *document) rejectSyntax(err error) {
	line, wrong := 0, strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, found := strings.CutPrefix(wrong, "line "); found {
		number, rest, _ := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(number); err == nil {
			line, wrong = n, rest
		}
	}
	d.complain(Problem{"config", quote(d.path), inFile(d.path, line), "it is not YAML: " + oneLine(wrong), "",
		"correct that line or the one before it"})
}

// reject adds a problem with a node. It shows the value if it is a single text.
func (d *document) reject(key string, node *yaml.Node, wrong, allowed, fix string) {
	value := ""
	if node.Kind == yaml.ScalarNode {
		value = quote(redacted("", node.Value))
	}
	d.complain(Problem{key, value, inFile(d.path, node.Line), wrong, allowed, fix})
}

// top reads the document's mapping.
func (d *document) top(root *yaml.Node) {
	d.mapping("config", root, func(name string, key, value *yaml.Node) {
		switch {
		case name == "spaces":
			d.spaces(value)
		case slices.Contains(d.sections(), name):
			d.mapping(name, value, func(inner string, key, value *yaml.Node) {
				d.entry(name+"."+inner, key, value, name+".")
			})
		default:
			d.entry(name, key, value, "")
		}
	})
}

// sections returns the keys with nested keys.
func (d *document) sections() []string {
	var names []string
	for _, key := range d.keys {
		if section, _, nested := strings.Cut(key.Name, "."); nested && !slices.Contains(names, section) {
			names = append(names, section)
		}
	}
	return names
}

// mapping calls each for every pair of a mapping. A repeated key is refused; nothing at all counts as an empty mapping.
func (d *document) mapping(name string, node *yaml.Node, each func(name string, key, value *yaml.Node)) {
	node = resolve(node)
	if isNull(node) {
		return
	}
	if node.Kind != yaml.MappingNode {
		d.reject(name, node, "it is not a mapping", "", "write keys and values, as in key: value")
		return
	}
	lines := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := resolve(node.Content[i]), resolve(node.Content[i+1])
		if key.Kind != yaml.ScalarNode {
			d.reject(name, key, "a key in it is not a text", "", "write keys and values, as in key: value")
			continue
		}
		if line, taken := lines[key.Value]; taken {
			d.reject(key.Value, value, fmt.Sprintf("the key is in line %d too", line), "", "give each key once")
			continue
		}
		lines[key.Value] = node.Content[i].Line
		each(key.Value, key, value)
	}
}

// entry reads one key with its own value; section is "" or ends with a dot.
func (d *document) entry(name string, key, value *yaml.Node, section string) {
	known, found := d.key(name)
	switch {
	case found && !known.InFile:
		d.reject(name, value, "it is no key of the file", "", "give it as --"+known.Flag+" or "+known.Env)
		return
	case found && section == "" && strings.Contains(name, "."):
		outer, inner, _ := strings.Cut(name, ".")
		d.reject(name, value, "keys are nested in the file", "", fmt.Sprintf("write %s: {%s: …}", outer, inner))
		return
	case !found:
		d.rejectUnknown(name, key, value, section)
		return
	}
	if text, ok := d.text(known, value); ok {
		d.layer.set(known.Name, setting{Text: text, Origin: inFile(d.path, key.Line)})
	}
}

// rejectUnknown names the keys allowed in that place.
func (d *document) rejectUnknown(name string, key, value *yaml.Node, section string) {
	var allowed []string
	for _, k := range d.keys {
		rest, inside := strings.CutPrefix(k.Name, section)
		if !inside || !k.InFile {
			continue
		}
		outer, _, _ := strings.Cut(rest, ".")
		if outer = section + outer; !slices.Contains(allowed, outer) {
			allowed = append(allowed, outer)
		}
	}
	at := *value
	at.Line = key.Line
	near := Nearest(name, allowed)
	if near == "" {
		near = Nearest(name, d.names())
	}
	fix := "leave it out"
	if near != "" {
		fix = "did you mean " + near + "?"
	}
	d.reject(name, &at, "there is no such key", strings.Join(allowed, ", "), fix)
}

// text returns a value as written. A list becomes the text of a repeated flag.
func (d *document) text(key Key, value *yaml.Node) (string, bool) {
	if key.Kind != List {
		return d.scalar(key.Name, value, key.Allowed)
	}
	if isNull(value) {
		return "", true
	}
	if value.Kind != yaml.SequenceNode {
		return d.scalar(key.Name, value, key.Allowed)
	}
	var items []string
	for _, item := range value.Content {
		text, ok := d.scalar(key.Name, resolve(item), key.Allowed)
		if !ok {
			return "", false
		}
		items = append(items, text)
	}
	return strings.Join(items, key.Separator), true
}

// scalar returns a single text. An empty node is refused, because it could mean the default as well as the empty text.
func (d *document) scalar(name string, value *yaml.Node, allowed string) (string, bool) {
	if value.Kind != yaml.ScalarNode {
		d.reject(name, value, "it is not a single value", allowed, "write one value")
		return "", false
	}
	if isNull(value) {
		d.reject(name, value, "it has no value", allowed, `write "" for the empty text, or leave the key out for its default`)
		return "", false
	}
	return value.Value, true
}

// spaces reads the mapping of spaces: each is a mapping with a protocol and options.
func (d *document) spaces(node *yaml.Node) {
	d.mapping("spaces", node, func(name string, key, value *yaml.Node) {
		full := "spaces." + name
		if value.Kind != yaml.MappingNode {
			d.reject(full, value, "it is not a mapping", "", "write {protocol: "+usual+"}")
			return
		}
		space, good := Space{Name: name}, true
		d.mapping(full, value, func(inner string, _, value *yaml.Node) {
			text, ok := d.scalar(full+"."+inner, value, "")
			good = good && ok
			if inner == "protocol" {
				space.Protocol = text
				return
			}
			if wrong := space.setOption(inner, text); wrong != nil {
				panic("config: an option came twice out of a mapping: " + inner)
			}
		})
		if !good {
			return
		}
		if space.Protocol == "" {
			d.reject(full, value, "it names no protocol", strings.Join(served(), ", "), "write {protocol: "+usual+"}")
			return
		}
		d.addSpace(d.layer, space, inFile(d.path, key.Line))
	})
}

// resolve follows an alias. An alias of an alias is not possible.
func resolve(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode && node.Alias != nil {
		return node.Alias
	}
	return node
}

func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
}
