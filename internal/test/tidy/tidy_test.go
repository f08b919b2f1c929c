package tidy_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/internal/test/tidy"
)

const root = "../../.."

// TestTree checks the repository against every rule.
func TestTree(t *testing.T) {
	tree, err := tidy.Read(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	if !tree.Has("holdfast.go") || !tree.Has("internal/test/tidy/tidy_test.go") {
		t.Fatalf("%s is not the repository", root)
	}
	for _, rule := range tidy.Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			found := rule.Check(tree)
			for _, finding := range found {
				t.Errorf("%s", finding)
			}
			if len(found) > 0 {
				t.Logf("why: %s", rule.Why)
			}
		})
	}
}

// TestWorktree checks that git's own files are ignored: in a worktree, .git is a file with a path of this machine.
func TestWorktree(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	tree, err := tidy.Read(fstest.MapFS{".git": file("gitdir: elsewhere"), "tools/.git": file("gitdir: elsewhere"), "a.md": file("a")})
	if err != nil {
		t.Fatal(err)
	}
	if !tree.Has("a.md") || tree.Has(".git") || tree.Has("tools/.git") {
		t.Errorf("the tree has %d files, want a.md alone", len(tree.Files))
	}
}

// light lists the modules that a program that imports only client may link beyond the standard library.
var light = []string{
	tidy.Module, "google.golang.org/grpc", "google.golang.org/protobuf",
	"google.golang.org/genproto/googleapis/api", "google.golang.org/genproto/googleapis/rpc",
	"golang.org/x/net", "golang.org/x/sys", "golang.org/x/text",
}

// mostLight is the maximum number of modules in the binary of such a program.
const mostLight = 15

// TestClientLinks checks that the daemon's dependencies are not linked into programs that are only clients.
func TestClientLinks(t *testing.T) {
	if len(light) > mostLight {
		t.Errorf("a program that is only a client may link %d modules; %d are allowed", len(light), mostLight)
	}
	tree, err := tidy.Read(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"", "client"} {
		if folders, _ := tree.Packages(); !slices.Contains(folders, folder) {
			continue
		}
		command := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./"+folder)
		command.Dir = root
		command.Stderr = os.Stderr
		answer, err := command.Output()
		if err != nil {
			t.Fatalf("go list ./%s: %v", folder, err)
		}
		for _, linked := range strings.Fields(string(answer)) {
			if !slices.ContainsFunc(light, func(module string) bool {
				return linked == module || strings.HasPrefix(linked, module+"/")
			}) {
				t.Errorf("a program that imports %s/%s links %s", tidy.Module, folder, linked)
			}
		}
	}
}

// example is a few files and the findings of a rule in them: a part of each finding.
type example struct {
	rule  string
	files map[string]string
	want  []string
}

// TestRulesBite checks that each rule finds its bad examples and passes its good ones.
func TestRulesBite(t *testing.T) {
	parallel.SkipBrief(t)
	bitten, passed := map[string]bool{}, map[string]bool{}
	for _, e := range slices.Concat(layerExamples(), purityExamples(), stateExamples(), styleExamples(), wordExamples()) {
		tree, err := tidy.Parse(e.files)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(tidy.Rules(), func(r tidy.Rule) bool { return r.Name == e.rule })
		if i < 0 {
			t.Fatalf("no rule is called %s", e.rule)
		}
		if len(e.want) > 0 {
			bitten[e.rule] = true
		} else {
			passed[e.rule] = true
		}
		found := tidy.Rules()[i].Check(tree)
		if len(found) != len(e.want) {
			t.Errorf("%s: found %q in %q, want %q", e.rule, found, e.files, e.want)
			continue
		}
		for i, want := range e.want {
			if !strings.Contains(found[i].String(), want) || found[i].Fix == "" {
				t.Errorf("%s: found %q in %q, want %q and what to do", e.rule, found[i], e.files, want)
			}
		}
	}
	for _, rule := range tidy.Rules() {
		if !bitten[rule.Name] || !passed[rule.Name] {
			t.Errorf("%s: has an example that it finds: %t, one that it passes: %t", rule.Name, bitten[rule.Name], passed[rule.Name])
		}
	}
}

// TestParse checks that Parse rejects text that is not Go.
func TestParse(t *testing.T) {
	if _, err := tidy.Parse(map[string]string{"a.go": "package"}); err == nil || !strings.Contains(err.Error(), "a.go:1") {
		t.Errorf("error %v, want the place of the mistake", err)
	}
}
