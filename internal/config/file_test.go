package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFileRefused reads the complaints about files.
func TestFileRefused(t *testing.T) {
	for _, test := range []struct {
		name, text, key string
		line            int // 0: not known
		parts           string
	}{
		{"unknown key", "name: a\nlese: 3s", "lese", 2, `lese: "3s" from file |there is no such key|allowed: name, listen,|did you mean lease?`},
		{"unknown section", "limit: {ttl: 1h}", "limit", 1, "did you mean limits?"},
		{"unknown key in a section", "limits:\n  ttl: 1h\n  session: 5", "limits.session", 3, "allowed: limits.ttl, limits.sessions,|did you mean limits.sessions?"},
		{"nothing near", "colour: red", "colour", 1, "leave it out"},
		{"merge key", "<<: {name: a}", "<<", 1, "there is no such key"},
		{"dotted key", "tls.cert: a.pem", "tls.cert", 1, "keys are nested in the file|write tls: {cert: …}"},
		{"file of a file", "config: other.yaml", "config", 1, "no key of the file"},
		{"twice", "name: a\nlease: 3s\nname: b", "name", 3, "the key is in line 1 too"},
		{"twice below", "log:\n  level: info\n  level: warn", "level", 3, "the key is in line 2 too"},
		{"list for a text", "name: [a, b]", "name", 1, "it is not a single value"},
		{"mapping for a list", "join: {a: b}", "join", 1, "it is not a single value"},
		{"nested list", "join: [[a]]", "join", 1, "it is not a single value"},
		{"text for a section", "tls: yes", "tls", 1, "it is not a mapping"},
		{"no value", "name: a\nhttp:", "http", 2, `it has no value|write "" for the empty text`},
		{"null", "http: ~", "http", 1, "it has no value"},
		{"a list", "- a\n- b", "config", 1, "it is not a mapping"},
		{"a text", "hello", "config", 1, "it is not a mapping"},
		{"strange key", "{a: b}: c", "config", 1, "a key in it is not a text"},
		{"second document", "name: a\n---\nname: b", "config", 2, "a second document begins here"},
		{"broken second document", "name: a\n---\nname: [", "config", 3, "it is not YAML"},
		{"not YAML", "name: a\nlease: 3s: 4s\n", "config", 2, "it is not YAML: mapping values are not allowed|correct that line"},
		{"tabs", "log:\n\tlevel: info\n", "config", 2, "it is not YAML"},
		{"not text", "name: \x01", "config", 0, "it is not YAML: control characters"},
		{"bad alias", "name: *a", "config", 0, "it is not YAML: unknown anchor"},
		{"space without protocol", "spaces:\n  a: {partition: any}", "spaces.a", 2, "names no protocol|write {protocol: central}"},
		{"space as a text", "spaces:\n  a: central", "spaces.a", 2, `"central"|not a mapping|write {protocol: central}`},
		{"space without data", "state: none\nspaces:\n  a: {protocol: consensus, shards: 1}", "spaces.a", 3, `"a=consensus,shards=1"|there is no folder to find again with state none; leave state out, or give it a folder with --data DIR in its place`},
		{"name of a space", "spaces:\n  a/b: {protocol: central}", "spaces", 2, "contains '/'"},
		{"space twice", "spaces:\n  a: {protocol: central}\n  a: {protocol: central}", "a", 3, "is in line 2 too"},
		{"option of a space", "spaces:\n  a: {protocol: central, preempt: [true]}", "spaces.a.preempt", 2, "not a single value"},
		{"bad value", "name: a\n\nlog: {level: loud}", "log.level", 3, "none of the choices"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := write(t, "h.yaml", test.text)
			found := problems(t, Sources{File: path})
			if len(found) != 1 {
				t.Fatalf("%d problems, want one: %v", len(found), found)
			}
			matches(t, found[0], test.key, test.parts)
			origin := "file " + path
			if test.line > 0 {
				origin += fmt.Sprintf(" line %d", test.line)
			}
			if found[0].Origin != origin {
				t.Errorf("it is from %s, want %s", found[0].Origin, origin)
			}
		})
	}
}

// TestFileAccepted: texts are taken as they are written, even if they mean something else
// in YAML.
func TestFileAccepted(t *testing.T) {
	for _, test := range []struct {
		text  string
		check func(c *Config) bool
	}{
		{"", func(c *Config) bool { return c.Name == "" }},
		{"# nothing\n---\n", func(c *Config) bool { return c.Name == "" }},
		{"name: 007", func(c *Config) bool { return c.Name == "007" }},
		{"name: 1.10", func(c *Config) bool { return c.Name == "1.10" }},
		{"name: yes", func(c *Config) bool { return c.Name == "yes" }},
		{`name: "null"`, func(c *Config) bool { return c.Name == "null" }},
		{`http: ""`, func(c *Config) bool { return c.HTTP == "" }},
		{"priority: off", func(c *Config) bool { return c.Candidate == 0 }},
		{"join:\n- 127.0.0.1:4040\n- localhost:4040\nexpect: 1", func(c *Config) bool { return c.Expect == 1 && len(c.Join) == 0 }},
		{"join: []\ntls:\nspaces:\nlog: {}", func(c *Config) bool { return len(c.Spaces) == 1 && c.Log.Level == "info" }},
		{"join:", func(c *Config) bool { return len(c.Join) == 0 }},
		{"name: &n x\nlog: &l {level: warn}", func(c *Config) bool { return c.Name == "x" && c.Log.Level == "warn" }},
		{"log: {level: &w warn}\nname: *w", func(c *Config) bool { return c.Name == "warn" }},
	} {
		if c := mustLoad(t, Sources{File: write(t, "h.yaml", test.text)}); !test.check(c) {
			t.Errorf("%q: got %+v", test.text, c)
		}
	}
}

func TestFileUnreadable(t *testing.T) {
	folder := t.TempDir()
	huge := write(t, "huge.yaml", "#"+strings.Repeat("x", maxFileBytes))
	odd := filepath.Join(folder, "line\nbreak.yaml")
	if err := os.WriteFile(odd, []byte("lese: 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, parts := range map[string]string{
		folder:                             "config: |cannot be read: is a directory",
		filepath.Join(folder, "none.yaml"): "cannot be read: no such file or directory|correct the path or its permissions",
		huge:                               "it has more than 1048576 bytes",
		odd:                                `line\nbreak.yaml" line 1`,
	} {
		found := problems(t, Sources{Environ: []string{"HOLDFAST_CONFIG=" + path}})
		if len(found) != 1 {
			t.Errorf("%q: %v, want one problem", path, found)
		}
		matches(t, found[0], found[0].Key, parts)
	}
}
