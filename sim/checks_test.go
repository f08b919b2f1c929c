package sim

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/sim/simtest"
)

// declared parses Go files, and calls report with every function that they declare.
func declared(t *testing.T, pattern string, tests bool, report func(*ast.FuncDecl)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") != tests {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, is := d.(*ast.FuncDecl); is {
				report(f)
			}
		}
	}
}

// checks lists the functions that report a broken promise, each with that promise: "check P1".
func checks(t *testing.T) map[string]bool {
	found := map[string]bool{}
	declared(t, "*.go", false, func(f *ast.FuncDecl) {
		ast.Inspect(f, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is || len(call.Args) < 2 {
				return true
			}
			if s, is := call.Fun.(*ast.SelectorExpr); !is || s.Sel.Name != "violate" {
				return true
			}
			promise := "any"
			switch arg := call.Args[0].(type) {
			case *ast.BasicLit:
				promise = strings.Trim(arg.Value, `"`)
			case *ast.Ident:
				promise = map[string]string{"liveness": liveness, "frugality": frugality}[arg.Name]
			}
			found[f.Name.Name+" "+promise] = true
			return true
		})
	})
	return found
}

var quoted = regexp.MustCompile("`([^`]*)`")

// codeSpans lists the code spans in a cell of a table.
func codeSpans(cell string) (all []string) {
	for _, match := range quoted.FindAllStringSubmatch(cell, -1) {
		all = append(all, match[1])
	}
	return all
}

// TestEveryCheckIsListed checks that docs/simulator.md lists each check with its promise and a test that feeds it a
// violation, and likewise each model.
func TestEveryCheckIsListed(t *testing.T) {
	text, err := os.ReadFile("../docs/simulator.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text2, _ := strings.Cut(string(text), "## What is checked, and who checks that\n")
	section, _, _ := strings.Cut(text2, "\n## ")
	tests := map[string]bool{}
	for _, pattern := range []string{"*.go", "history/*.go"} {
		declared(t, pattern, true, func(f *ast.FuncDecl) { tests[f.Name.Name] = true })
	}
	models := map[string]bool{}
	declared(t, "history/model.go", false, func(f *ast.FuncDecl) {
		if f.Recv == nil && f.Type.Results != nil && len(f.Type.Results.List) == 1 {
			if of, is := f.Type.Results.List[0].Type.(*ast.Ident); is && of.Name == "Model" {
				models[f.Name.Name] = true
			}
		}
	})
	missing := checks(t)
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if !strings.HasPrefix(line, "|") || !strings.Contains(line, "`Test") {
			continue
		}
		for _, name := range codeSpans(cells[len(cells)-2]) {
			if !tests[name] {
				t.Errorf("%s is no test: %s", name, line)
			}
		}
		if len(cells) == 5 { // a model
			for _, name := range codeSpans(cells[1]) {
				if !models[name] {
					t.Errorf("%s is no model", name)
				}
				delete(models, name)
			}
			continue
		}
		promises := codeSpans(cells[1])
		switch strings.TrimSpace(cells[1]) {
		case "":
			continue // found without a promise
		case "any":
			promises = []string{"any"}
		}
		for _, promise := range promises {
			check := codeSpans(cells[3])[0] + " " + promise
			if !missing[check] && !checks(t)[check] {
				t.Errorf("no function says that: %s", check)
			}
			delete(missing, check)
		}
	}
	if len(missing)+len(models) > 0 {
		t.Errorf("not in the table: %q, %q", slices.Sorted(maps.Keys(missing)), slices.Sorted(maps.Keys(models)))
	}
}

// TestWhatIsUnsettledIsStuck checks that an unsettled run is stuck two minutes after healing, and not before.
func TestWhatIsUnsettledIsStuck(t *testing.T) {
	for name, change := range map[string]func(*world, *process){
		"all is healed": func(_ *world, m *process) { m.stuck = true },
		"a core is":     func(w *world, m *process) { w.core = among(w, "abc"); m.stuck = true },
	} {
		t.Run(name, func(t *testing.T) {
			w := still(t, 3, 0)
			m := follower(w)
			change(w, m)
			m.crash(m.life)
			healed := w.now
			w.do(healed+despair-time.Second, func() { judgedAs(t, w.judge, "") })
			w.await(healed)
			judgedAs(t, w.judge, "P4")
			if w.judge.violation != nil && w.judge.violation.At <= healed+despair {
				t.Errorf("it despairs at %v, %v after all was healed", w.now, w.now-healed)
			}
		})
	}
}

// TestADeedThatIsNotDoneIsStuck checks that an act that is not done is a failure, not an act without messages.
func TestADeedThatIsNotDoneIsStuck(t *testing.T) {
	for name, tt := range map[string]struct {
		happens func(w *world)
		promise string
	}{
		"nothing":          {func(*world) {}, ""},
		"a member is gone": {func(w *world) { m := w.clients[len(w.clients)-1].places[0]; m.crash(m.life) }, "P4"},
	} {
		t.Run(name, func(t *testing.T) {
			w := still(t, 3, 0)
			users := w.payers(w.coordinator())
			w.do(w.now+time.Second, func() { tt.happens(w) })
			w.measure(&w.protocol.Costs(3)[4], users)
			judgedAs(t, w.judge, tt.promise)
		})
	}
}

// restive is a space that always asks to be woken at once, or that panics when it is.
type restive struct {
	bystander
	breaks bool
}

func (r *restive) Wake() protocol.Time { return 0 }

func (r *restive) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	if r.breaks && ev.Kind == protocol.Tick {
		panic("restive: it does not hold")
	}
	r.bystander.Step(now, ev, out)
}

// TestManyMessagesMayArriveAtOnce checks that more messages may arrive at one instant than a machine may ask for
// wake-ups: a link keeps its order, so many may wait behind a late one. Seed 3648 of protocol consensus had 10,000.
func TestManyMessagesMayArriveAtOnce(t *testing.T) {
	w := still(t, 2, 0)
	before := w.steps
	for range standstill + 2 {
		w.at(w.now+1, task{kind: taskMessage, to: 0, id: uint64(w.members[0].id), from: uint64(w.members[1].id), port: 1, fact: nil})
	}
	w.run(w.now + time.Millisecond)
	if got := w.steps - before; got <= standstill {
		t.Errorf("%d messages have arrived", got)
	}
}

// TestAMachineThatBreaksIsACrash checks that a machine that panics is a crash, and one that never lets time pass.
func TestAMachineThatBreaksIsACrash(t *testing.T) {
	for want, breaks := range map[string]bool{"restive: it does not hold": true, "time does not pass": false} {
		p := Of(simtest.Describe("restive", func(*protocol.Setup) protocol.Machine { return &restive{breaks: breaks} }))
		p.Locks = false
		result, err := Run(Config{Protocol: p, Duration: time.Second}, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		if result.Outcome != Crashed || !strings.Contains(result.Violation.Detail, want) {
			t.Errorf("want %q: %v %v", want, result.Outcome, result.Violation)
		}
	}
}
