package access

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MaxBytes is the largest size of a file.
const MaxBytes = 4 << 20

// MaxEntries is the largest number of patterns of names in a file, of roles, of subjects in grants and in quotas, and of
// assertions, each counted by itself.
const MaxEntries = 100_000

// MaxIssuers is the largest number of issuers of JWTs in a file.
const MaxIssuers = 64

// Parse reads a policy from the text of a file. The error is an [*Error] with all faults.
func Parse(data []byte) (*Policy, error) {
	r := &reader{policy: &Policy{}, roles: map[string]int{}, counts: map[string]int{}}
	if root := r.document(data); root != nil {
		r.top(root)
	}
	if len(r.faults) > 0 {
		return nil, &Error{Faults: r.faults, More: r.more}
	}
	p := r.policy
	p.granted, p.quoted = &tree{crosses: true}, &tree{crosses: true}
	for _, g := range p.grants {
		for _, to := range g.to {
			p.granted.add(subjectSteps(to), false, every, int32(g.role)+1)
		}
	}
	for i, q := range p.quotas {
		for _, to := range q.to {
			p.quoted.add(subjectSteps(to), false, every, int32(i)+1)
		}
	}
	p.rights = cache{sets: map[string]*Rights{}, budget: cacheLeast + cacheTimes*r.counts[countNames]}
	digest, err := digestOf(p)
	if err != nil {
		return nil, fmt.Errorf("make a digest of the access file: %w", err)
	}
	p.digest = digest
	return p, nil
}

// The counts that MaxEntries bounds.
const (
	countNames      = "patterns of names"
	countRoles      = "roles"
	countGrants     = "subjects in grants"
	countQuotas     = "subjects in quotas"
	countAssertions = "assertions"
)

// reader is a file that is being read. It uses the tree of YAML, not decoded values: a node has its line, and its text
// as it was written.
type reader struct {
	policy *Policy
	roles  map[string]int // index by name
	counts map[string]int
	visits int // of entries of lists and mappings, those behind an alias each time
	faults []Fault
	more   int
}

// maxVisits bounds the work for a file. A file without aliases does not come near.
const maxVisits = MaxBytes / 2

// visit counts the visit of an entry, and reports whether it is within the bound.
func (r *reader) visit(node *yaml.Node) bool {
	if r.visits++; r.visits == maxVisits {
		r.fault(node.Line, "", "the aliases of the file stand for too many entries", "use fewer aliases, or patterns")
	}
	return r.visits < maxVisits
}

// fault adds a fault.
func (r *reader) fault(line int, key, wrong, fix string) {
	if len(r.faults) == MaxFaults {
		r.more++
		return
	}
	r.faults = append(r.faults, Fault{line, key, wrong, fix})
}

// wrong adds a fault about the value of a node.
func (r *reader) wrong(key string, node *yaml.Node, wrong, fix string) {
	if node.Kind == yaml.ScalarNode && !isNull(node) {
		wrong = quote(node.Value) + " " + wrong
	} else {
		wrong = "the value " + wrong
	}
	r.fault(node.Line, key, wrong, fix)
}

// document returns the mapping of the file; nil after a fault.
func (r *reader) document(data []byte) *yaml.Node {
	if len(data) > MaxBytes {
		r.fault(0, "", fmt.Sprintf("the file has %d bytes; at most %d are allowed", len(data), MaxBytes), "use patterns, and fewer rules")
		return nil
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(data)))
	var first, second yaml.Node
	err := decoder.Decode(&first)
	if errors.Is(err, io.EOF) || err == nil && isNull(first.Content[0]) {
		r.fault(0, "", "the file is empty, so no subject could do anything", "write roles and grants, or start the member without --access")
		return nil
	}
	if err == nil {
		if err = decoder.Decode(&second); err == nil {
			r.fault(second.Line, "", "a second document begins here", "write one YAML document")
			return nil
		}
	}
	if !errors.Is(err, io.EOF) {
		r.syntax(err)
		return nil
	}
	return first.Content[0]
}

// syntax adds a fault for text that is not YAML: "yaml: line 3: …".
func (r *reader) syntax(err error) {
	line, wrong := 0, strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, found := strings.CutPrefix(wrong, "line "); found {
		number, rest, _ := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(number); err == nil {
			line, wrong = n, rest
		}
	}
	fix := "correct that line or the one before it"
	if strings.Contains(wrong, "alphabetic or numeric character") {
		fix = `put a value that begins with "*" in quotes`
	}
	r.fault(line, "", "the file is not YAML: "+oneLine(wrong), fix)
}

// count counts an entry, and reports whether it is within the bound. The first one beyond it is a fault.
func (r *reader) count(what string, key string, node *yaml.Node) bool {
	r.counts[what]++
	switch n := r.counts[what]; {
	case n <= MaxEntries:
		return true
	case n == MaxEntries+1:
		r.fault(node.Line, key, fmt.Sprintf("the file has more than %d %s", MaxEntries, what), "use patterns, and fewer entries")
	}
	return false
}

// fields has the readers of the keys of a mapping. A key in required must be there.
type fields struct {
	keys     []string // in the order of the error
	required []string
	read     func(name, key string, value *yaml.Node)
}

// mapping reads a mapping with known keys, and reports whether all that are required are there.
func (r *reader) mapping(key string, node *yaml.Node, f fields) bool {
	found := map[string]bool{}
	good := r.pairs(key, node, func(name, inner string, keyNode, value *yaml.Node) {
		found[name] = true
		if !slices.Contains(f.keys, name) {
			r.fault(keyNode.Line, inner, "there is no such key", "the keys here are "+strings.Join(f.keys, ", "))
			return
		}
		f.read(name, inner, value)
	})
	if !good {
		return false
	}
	for _, name := range f.required {
		if !found[name] {
			r.fault(node.Line, key, "the key "+name+" is missing", "write "+name+": …")
			good = false
		}
	}
	return good
}

// pairs calls each for every pair of a mapping, and reports whether it is one.
func (r *reader) pairs(key string, node *yaml.Node, each func(name, inner string, key, value *yaml.Node)) bool {
	if node = resolve(node); node.Kind != yaml.MappingNode {
		r.wrong(key, node, "is not a mapping", "write keys and values, as in key: value")
		return false
	}
	lines := map[string]int{}
	for i := 0; i+1 < len(node.Content) && r.visit(node); i += 2 {
		name, value := resolve(node.Content[i]), resolve(node.Content[i+1])
		if name.Kind != yaml.ScalarNode {
			r.fault(node.Content[i].Line, key, "a key is not a text", "write keys and values, as in key: value")
			continue
		}
		inner := name.Value
		if key != "" {
			inner = key + "." + name.Value
		}
		if line, taken := lines[name.Value]; taken {
			r.fault(node.Content[i].Line, inner, fmt.Sprintf("the key is in line %d too", line), "write each key once")
			continue
		}
		lines[name.Value] = node.Content[i].Line
		each(name.Value, inner, node.Content[i], value)
	}
	return true
}

// list calls each for every entry of a list. Anything else is a fault.
func (r *reader) list(key string, node *yaml.Node, each func(key string, node *yaml.Node)) {
	if node = resolve(node); node.Kind != yaml.SequenceNode {
		r.wrong(key, node, "is not a list", "write entries that begin with a dash, or in brackets")
		return
	}
	for i, entry := range node.Content {
		if !r.visit(node) {
			return
		}
		each(fmt.Sprintf("%s[%d]", key, i), resolve(entry))
	}
}

// texts calls each for every text of a list, or for a single text.
func (r *reader) texts(key string, node *yaml.Node, each func(key, text string, node *yaml.Node)) {
	node = resolve(node)
	if node.Kind != yaml.SequenceNode {
		if text, good := r.text(key, node); good {
			each(key, text, node)
		}
		return
	}
	if len(node.Content) == 0 {
		r.fault(node.Line, key, "the list is empty", "give at least one entry")
	}
	r.list(key, node, func(key string, node *yaml.Node) {
		if text, good := r.text(key, node); good {
			each(key, text, node)
		}
	})
}

// text returns a single text, as it was written.
func (r *reader) text(key string, node *yaml.Node) (string, bool) {
	switch {
	case node.Kind != yaml.ScalarNode:
		r.wrong(key, node, "is not a text", "write one text")
	case isNull(node):
		r.fault(node.Line, key, "there is no value", `write one; a text such as "null" or "~" needs quotes`)
	default:
		return node.Value, true
	}
	return "", false
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
