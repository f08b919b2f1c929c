package published

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast/internal/test/golden"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var hunt = flag.Bool("hunt", false, "look for the seeds again, within each budget, and demand that they are those of seeds.txt")

const (
	seedsFile = "seeds.txt"
	tableFile = "../../docs/mutations.md"
)

// around is the number of seeds run with the rule in place: the one that shows the failure without it, and those before
// it.
const around = 4

// TestEveryRuleIsFound checks that the checks of the promises find the failure of each rule with its first seed, within
// its budget, and find nothing with the rule in place.
func TestEveryRuleIsFound(t *testing.T) {
	found := Seeds() // rules that are not run keep their seeds
	for i, row := range All() {
		t.Run(strings.ReplaceAll(row.Rule, " ", "_"), func(t *testing.T) {
			if row.Budget == 0 {
				return // TestRowsAreWhole checks that such a row names its test
			}
			oneInEight(t, i)
			if !golden.Rewrites() && !*hunt {
				missed(t, &row)
				return
			}
			f := rehunt(t, &row)
			if found[row.Rule] = f; f.Seed == 0 {
				delete(found, row.Rule)
			}
			if known := Seeds()[row.Rule]; *hunt && f != known {
				t.Errorf("seeds.txt says %+v, and it is %+v; write it with -rewrite", known, f)
			}
		})
	}
	if !golden.Rewrites() {
		return
	}
	rewritten(t, seedsFile, WriteSeeds(found))
	rewritten(t, tableFile, Table(found))
}

// oneInEight skips most of many similar tests with -short.
func oneInEight(t *testing.T, i int) {
	t.Helper()
	if testing.Short() && i%8 != 0 {
		t.Skip("one in eight is run; run without -short")
	}
}

// missed runs the seed that shows a row, without the rule and with it.
func missed(t *testing.T, row *Row) {
	known := Seeds()[row.Rule]
	if known.Seed < row.From() || known.Seed > row.To() {
		t.Fatalf("its seed is %d, and %d to %d are its budget; look for it with -rewrite", known.Seed, row.From(), row.To())
	}
	result, err := row.Run(known.Seed, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !row.Shows(&result) {
		t.Fatalf("seed %d breaks no promise without the rule: %v %v; look for another with -rewrite", known.Seed, result.Outcome, result.Violation)
	}
	if got := foundBy(&result); got != known {
		t.Errorf("seeds.txt says %+v, and it is %+v; write it with -rewrite", known, got)
	}
	kept(t, row, known.Seed)
}

// kept checks that nothing is found with the rule in place.
func kept(t *testing.T, row *Row, seed uint64) {
	for s := seed - min(seed-1, around-1); s <= seed; s++ {
		result, err := row.Kept(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		if result.Outcome != sim.OK {
			t.Errorf("seed %d with the rule in place: %v %v", s, result.Outcome, result.Violation)
		}
	}
}

// TestOrderShowsItsRowsAlone checks that a violation of the order proves nothing for a row about another promise.
func TestOrderShowsItsRowsAlone(t *testing.T) {
	for _, at := range []struct {
		breaks, broken string
		want           bool
	}{{"P1", "P5", false}, {"P4", "P5", false}, {"P5", "P5", true}, {"P1", "P3", true}} {
		row := Row{Breaks: at.breaks}
		if got := row.Shows(&sim.Result{Outcome: sim.Violated, Violation: &sim.Violation{Promise: at.broken}}); got != at.want {
			t.Errorf("%s broken shows what breaks %s: %v; want %v", at.broken, at.breaks, got, at.want)
		}
	}
}

// TestTheFlagIsWhatIsFound checks that the missing flag causes the failure: "a debt is a flag" disables repetition,
// too, which alone breaks nothing without lost messages.
func TestTheFlagIsWhatIsFound(t *testing.T) {
	parallel.SkipBrief(t)
	row, err := Find("a debt is a flag")
	if err != nil {
		t.Fatal(err)
	}
	row.Rule = "request sent once"
	for seed := row.From(); seed <= row.To(); seed++ {
		result, err := row.Run(seed, nil)
		if err != nil {
			t.Fatal(err)
		}
		if result.Outcome != sim.OK {
			t.Errorf("seed %d, where requests are sent once and no message is lost: %v %v", seed, result.Outcome, result.Violation)
		}
	}
}

func foundBy(result *sim.Result) Found {
	return Found{Seed: result.Seed, Promise: result.Violation.Promise, Steps: result.Steps}
}

func rehunt(t *testing.T, row *Row) Found {
	result, err := row.Hunt()
	if err != nil {
		t.Fatal(err)
	}
	if result == nil {
		t.Errorf("seeds %d to %d without the rule break no promise", row.From(), row.To())
		return Found{}
	}
	t.Logf("seed %d: %v", result.Seed, result.Violation)
	kept(t, row, result.Seed)
	return foundBy(result)
}

func rewritten(t *testing.T, path, text string) {
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestTheTableIsUpToDate checks that docs/mutations.md matches the rows and seeds.txt.
func TestTheTableIsUpToDate(t *testing.T) {
	if golden.Rewrites() {
		return // it is about to be written
	}
	if *retell {
		rewritten(t, tableFile, Table(Seeds()))
	}
	text, err := os.ReadFile(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	//tidy:unordered each rule on its own
	for rule := range Seeds() {
		if row, err := Find(rule); err != nil || row.Elsewhere != "" {
			t.Errorf("%s has a seed of %q, which no seed shows (%v); remove its line", seedsFile, rule, err)
		}
	}
	if string(text) != Table(Seeds()) {
		t.Errorf("%s is not what the rows say; write it with go test ./sim/published -retell", tableFile)
	}
}

// TestRowsAreWhole checks that each row has the texts for a reader, and either a budget or the name of another test.
func TestRowsAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range All() {
		if _, err := row.Config(); err != nil {
			t.Error(err)
		}
		if row.Source == "" || !strings.HasPrefix(row.Breaks, "P") || strings.Count(row.Hole, ". ") != 1 || !strings.HasSuffix(row.Hole, ".") {
			t.Errorf("%q: source %q, breaks %q, hole %q: want all of them, and two sentences", row.Rule, row.Source, row.Breaks, row.Hole)
		}
		if (row.Budget == 0) == (row.Elsewhere == "") {
			t.Errorf("%q: budget %d, elsewhere %q: want one of both", row.Rule, row.Budget, row.Elsewhere)
		}
		if (row.First == 0) != (row.Rare == 0) || row.Rare != 0 && row.Rare < row.Budget {
			t.Errorf("%q: first seed %d, one of %d: want both where it is rarer than the budget allows, or none", row.Rule, row.First, row.Rare)
		}
		if seen[row.Rule] {
			t.Errorf("%q has two rows", row.Rule)
		}
		seen[row.Rule] = true
	}
	for rule := range Seeds() {
		if !seen[rule] {
			t.Errorf("seeds.txt has %q, which has no row", rule)
		}
	}
}

// TestEveryRuleHasARow checks that the rules in the code and those listed are the same.
func TestEveryRuleHasARow(t *testing.T) {
	declared := rules(t)
	var listed []string
	for _, row := range All() {
		listed = append(listed, row.Rule)
	}
	slices.Sort(listed)
	for _, rule := range declared {
		if !slices.Contains(listed, rule) {
			t.Errorf("%q can be switched off and has no row: give it one", rule)
		}
	}
	for _, rule := range listed {
		if !slices.Contains(declared, rule) {
			t.Errorf("%q has a row, and no code asks for it", rule)
		}
	}
}

// rules lists the names of all rules in the code that can be disabled.
func rules(t *testing.T) (all []string) {
	t.Helper()
	mutated := regexp.MustCompile(`(?:protocol\.Mutated|mutation\.Off)\("([^"]+)"\)`)
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "published"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, line := range strings.Split(string(text), "\n") {
			if code, _, _ := strings.Cut(line, "//"); code != "" {
				for _, match := range mutated.FindAllStringSubmatch(code, -1) {
					all = append(all, match[1])
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TestFindNamesWhatThereIs checks that Find ignores the case of letters, and that its error lists the rules.
func TestFindNamesWhatThereIs(t *testing.T) {
	if row, err := Find("GUESTS vote"); err != nil || row.Rule != "guests vote" {
		t.Errorf("%q, %v", row.Rule, err)
	}
	if _, err := Find("gravity"); err == nil || !strings.Contains(err.Error(), `"gravity"`) || !strings.Contains(err.Error(), `"guests vote"`) {
		t.Errorf("an unknown rule: %v", err)
	}
}

// Shows reports whether a run without the rule shows the row's failure: an answer to a user breaks a promise or, if the
// rule prevents that, a user is stranded. A panic of a machine counts only for rows with Asserted. A violation of the
// order counts only for rows about it: the run ends there, and a worse failure might have come later.
func (r *Row) Shows(result *sim.Result) bool {
	switch result.Outcome {
	case sim.Violated:
		return !r.Asserted && (result.Violation.Promise != "P5" || r.Breaks == "P5")
	case sim.Stuck:
		return r.Breaks == "P4"
	case sim.Crashed:
		return r.Asserted
	}
	return false
}

// From is the first seed of the budget.
func (r *Row) From() uint64 { return max(1, r.First) }

// To is the last seed of the budget.
func (r *Row) To() uint64 { return r.From() + uint64(r.Budget) - 1 }

// Hunt runs the seeds of the budget without the rule, and returns the result of the first one that breaks a promise;
// nil if none does.
func (r *Row) Hunt() (*sim.Result, error) {
	for seed := r.From(); seed <= r.To(); seed++ {
		result, err := r.Run(seed, nil)
		if err != nil {
			return nil, err
		}
		if r.Shows(&result) {
			return &result, nil
		}
	}
	return nil, nil
}

// WriteSeeds formats seeds as Seeds reads them, in the order of All.
func WriteSeeds(found map[string]Found) string {
	var b strings.Builder
	b.WriteString("# The first seed that shows what goes wrong without a rule: seed promise steps rule\n")
	b.WriteString("# Written by: go test ./sim/published -rewrite\n")
	for _, r := range All() {
		if f, ok := found[r.Rule]; ok {
			fmt.Fprintf(&b, "%d %s %d %s\n", f.Seed, f.Promise, f.Steps, r.Rule)
		}
	}
	return b.String()
}
