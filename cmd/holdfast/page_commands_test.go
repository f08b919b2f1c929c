package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"
)

// shown is a command in a document: a line of a fenced block, or a code span.
type shown struct{ page, text string }

// span is code in a line of Markdown.
var span = regexp.MustCompile("`([^`]+)`")

// shownCommands returns what documents show of commands that begin with a prefix. The changelog and the decisions are left
// out: they speak of the past.
func shownCommands(t *testing.T, prefix string) (all []shown) {
	t.Helper()
	pages, err := filepath.Glob("../../*.md")
	must(t, err)
	must(t, filepath.WalkDir("../../docs", func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" && !strings.Contains(path, "decisions") {
			pages = append(pages, path)
		}
		return err
	}))
	for _, page := range append(pages, "../../bench/README.md") {
		content, err := os.ReadFile(page)
		must(t, err)
		if filepath.Base(page) == "CHANGELOG.md" {
			continue
		}
		fenced := false
		for line := range strings.Lines(string(content)) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "```") {
				fenced = !fenced
				continue
			}
			texts := []string{strings.TrimPrefix(line, "$ ")}
			if !fenced {
				texts = nil
				for _, m := range span.FindAllStringSubmatch(line, -1) {
					texts = append(texts, strings.ReplaceAll(m[1], `\|`, "|"))
				}
			}
			for _, text := range texts {
				if strings.HasPrefix(text, prefix) {
					all = append(all, shown{page, text})
				}
			}
		}
	}
	return all
}

// words are the words of a command, up to a remark, which two spaces begin, and to the command that it runs.
func (s shown) words() []string {
	text, _, _ := strings.Cut(strings.ReplaceAll(s.text, " # ", "  "), "  ")
	words := strings.Fields(text)
	if i := slices.Index(words, "--"); i >= 0 {
		words = words[:i]
	}
	return words
}

// TestCommandsOfPages: documents show no command and no flag that the program does not have.
func TestCommandsOfPages(t *testing.T) {
	p := &program{args: []string{name}, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	checked := 0
	for _, s := range shownCommands(t, name+" ") {
		words := s.words()
		if len(words) < 2 || formats.MatchString(s.text) {
			continue
		}
		c := p.root()
		if word := words[1]; lower.MatchString(word) {
			if c = c.Command(word); c == nil {
				t.Errorf("%s: %q: there is no command %q", s.page, s.text, word)
				continue
			}
			checked++
		}
		flags := flagsOf(c)
		for _, word := range words[1:] {
			flag, _, _ := strings.Cut(strings.Trim(word, "[]…,;()"), "=")
			if !strings.HasPrefix(flag, "--") || flag == "--help" || flag == "--version" {
				continue
			}
			if !slices.ContainsFunc(flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), flag[2:]) }) {
				t.Errorf("%s: %q: %s has no flag %s", s.page, s.text, c.Name, flag)
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d commands were found", checked)
	}
}

// lower is a word that names something, and no placeholder. formats are the first lines of files.
var (
	lower   = regexp.MustCompile(`^[a-z][a-z-]*$`)
	formats = regexp.MustCompile(`^holdfast (trace|cell|script) \d`)
)

// flagsOf returns the flags of a command and of those below it.
func flagsOf(c *cli.Command) []cli.Flag {
	flags := slices.Clone(c.Flags)
	for _, below := range c.Commands {
		flags = append(flags, flagsOf(below)...)
	}
	return flags
}

// function is a test or a benchmark.
var function = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w+)`)

// TestTestsOfPages: documents name tests, benchmarks and packages that there are.
func TestTestsOfPages(t *testing.T) {
	checked := 0
	for _, s := range shownCommands(t, "go test ") {
		words := s.words()
		var names [][]byte
		for _, word := range words {
			if !strings.HasPrefix(word, "./") || word == "./..." || strings.Contains(word, "<") {
				continue
			}
			folder, below := strings.CutSuffix(word, "/...")
			err := filepath.WalkDir(filepath.Join("../..", folder), func(path string, d fs.DirEntry, err error) error {
				if err != nil || !strings.HasSuffix(path, "_test.go") {
					return err
				}
				if !below && filepath.Dir(path) != filepath.Join("../..", folder) {
					return nil
				}
				content, err := os.ReadFile(path)
				for _, m := range function.FindAllSubmatch(content, -1) {
					names = append(names, m[1])
				}
				return err
			})
			if err != nil {
				t.Errorf("%s: %q: %v", s.page, s.text, err)
			}
		}
		for i, word := range words[:len(words)-1] {
			pattern := strings.Trim(words[i+1], "'")
			if word != "-run" && word != "-bench" && word != "-fuzz" || pattern == "^$" || pattern == "." || names == nil {
				continue
			}
			for alternative := range strings.SplitSeq(pattern, "|") {
				first, _, _ := strings.Cut(strings.Trim(alternative, "^$()"), "/")
				if first != strings.ToUpper(first) && !slices.ContainsFunc(names, func(n []byte) bool { return bytes.Contains(n, []byte(first)) }) {
					t.Errorf("%s: %q: no test is called %s", s.page, s.text, first)
				}
				checked++
			}
		}
	}
	if checked < 10 {
		t.Errorf("only %d tests were found", checked)
	}
}

// TestStagesOfPages: documents name stages of .ci/run that there are.
func TestStagesOfPages(t *testing.T) {
	script, err := os.ReadFile("../../.ci/run")
	must(t, err)
	checked := 0
	for _, s := range shownCommands(t, ".ci/run ") {
		for _, word := range s.words()[1:] {
			if !lower.MatchString(word) {
				break
			}
			if checked++; !bytes.Contains(script, []byte("\nstage_"+word+"()")) {
				t.Errorf("%s: %q: there is no stage %s", s.page, s.text, word)
			}
		}
	}
	if checked < 5 {
		t.Errorf("only %d stages were found", checked)
	}
}

// TestConfigurationsOfPages: serve takes the YAML that documents show.
func TestConfigurationsOfPages(t *testing.T) {
	program := filepath.Join(build(t), name)
	for _, page := range []string{"docs/spaces.md", "docs/protocols/claim.md"} {
		file := filepath.Join(t.TempDir(), "holdfast.yaml")
		must(t, os.WriteFile(file, []byte(block(t, page, "yaml", 0)), 0o600))
		if out, err := exec.Command(program, "serve", "--config", file, "--print-config").CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", page, err, out)
		}
	}
}

// TestRequestOfHTTPPage runs the call of docs/http.md.
func TestRequestOfHTTPPage(t *testing.T) {
	_, address := startMember(t, build(t))
	command := strings.ReplaceAll(block(t, "docs/http.md", "sh", 0), "localhost:4041", address)
	out, err := exec.Command("bash", "-c", strings.Replace(command, "curl -s", "curl -s -w '%{http_code}'", 1)).CombinedOutput()
	if err != nil || !bytes.HasSuffix(out, []byte("200")) {
		t.Errorf("%v\n%s", err, out)
	}
}
