package published

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/sim"
	"github.com/holdfast-locks/holdfast/sim/draw"
	"github.com/holdfast-locks/holdfast/sim/shrink"
	"github.com/holdfast-locks/holdfast/sim/timeline"
)

var (
	retell = flag.Bool("retell", false, "write anew what stands below the scripts, the pictures, and docs/mutations.md")
	anew   = flag.String("shrink", "", "make the scripts of the rules that fit this regular expression anew from their seeds, and retell them; . is for all")
)

// tooLong is the number of choices that is too much for a reader. Most scripts have fewer than ten; one with many is
// understood by its picture.
const tooLong = 120

// TestScripts plays the script of each rule that seeds find: without the rule it breaks the rule's promise and matches
// its transcript, and with the rule it breaks nothing.
func TestScripts(t *testing.T) {
	files := map[string]bool{}
	for i, row := range All() {
		if !row.Scripted() {
			continue
		}
		files[row.ScriptFile()] = true
		t.Run(row.Slug(), func(t *testing.T) {
			oneInEight(t, i)
			testScript(t, &row)
		})
	}
	kept, err := filepath.Glob("scripts/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range kept {
		if !files[filepath.ToSlash(file)] {
			t.Errorf("%s belongs to no rule that seeds find: remove it", file)
		}
	}
}

func testScript(t *testing.T, row *Row) {
	if *anew != "" && regexp.MustCompile(*anew).MatchString(row.Rule) {
		head, err := row.Shrink(shrink.Config{Jobs: runtime.GOMAXPROCS(0)})
		if err != nil {
			t.Fatal(err)
		}
		rewritten(t, row.ScriptFile(), head+transcript(t, row, head))
		return
	}
	text, err := os.ReadFile(row.ScriptFile())
	if err != nil {
		t.Fatalf("%v; make it with -shrink '^%s$'", err, row.Rule)
	}
	head, golden, _ := strings.Cut(string(text), "\n----\n")
	if !strings.HasPrefix(head, sim.ScriptHeader+"\n# "+row.Hole+"\n# Shrunk from seed ") {
		t.Errorf("%s does not begin with what the rule's row says of its hole", row.ScriptFile())
	}
	now := transcript(t, row, head+"\n")
	if *retell {
		rewritten(t, row.ScriptFile(), head+"\n"+now)
	} else if now != "----\n"+golden {
		t.Errorf("it goes otherwise than its transcript says (look at what -retell makes of it):\n%s", now)
	}
}

// transcript plays a script and returns the text below it.
func transcript(t *testing.T, row *Row, head string) string {
	script, _, err := sim.ParseScript(head)
	if err != nil {
		t.Fatal(err)
	}
	p, known := sim.Find(row.Protocol)
	if !known || script.Without != row.Rule {
		t.Fatalf("it is of protocol %q without %q", script.Protocol, script.Without)
	}
	if fine, err := sim.Play(script, sim.Stage{Protocol: p}); err != nil || fine.Outcome != sim.OK {
		t.Errorf("with the rule in place: %v, %v", fine.Verdict(), err)
	}
	defer script.SwitchOff()()
	text, played, err := sim.Transcript(script, p)
	if err != nil {
		t.Fatal(err)
	}
	if !row.Shows(&played.Result) { // this may be another promise than the seed's: a rule often serves several
		t.Errorf("without the rule: %v; the rule is for %s", played.Verdict(), row.Breaks)
	}
	for i := range played.Void {
		t.Errorf("nothing asks for %v", &played.Void[i])
	}
	for _, wrong := range played.Wrong {
		t.Errorf("%v: %s", &wrong.Choice, wrong.Allowed)
	}
	if len(script.Choices) > tooLong {
		t.Errorf("%d choices: too many to read", len(script.Choices))
	}
	return "----\n" + abridged(text)
}

// TestPictures checks that each rule that seeds find has a picture of its script, and that it is up to date.
func TestPictures(t *testing.T) {
	parallel.SkipBrief(t)
	for _, row := range All() {
		if !row.Scripted() {
			continue
		}
		t.Run(row.Slug(), func(t *testing.T) {
			path := filepath.Join("../../docs", row.PictureFile())
			var events []timeline.Event
			if err := row.Picture(func(h timeline.Event) { events = append(events, h) }); err != nil {
				t.Fatal(err)
			}
			var now bytes.Buffer
			if err := row.Drawing().Write(&now, events); err != nil {
				t.Fatal(err)
			}
			if *retell {
				rewritten(t, path, now.String())
				return
			}
			if kept, err := os.ReadFile(path); err != nil || !bytes.Equal(kept, now.Bytes()) {
				t.Errorf("%s is not what is drawn now, %v; look at what -retell makes of it", path, err)
			}
		})
	}
}

// Picture plays the row's script, and passes its timeline to by.
func (r *Row) Picture(by func(timeline.Event)) error {
	script, _, err := r.Script()
	if err != nil {
		return err
	}
	p, _ := sim.Find(script.Protocol)
	defer script.SwitchOff()()
	_, err = sim.Play(script, sim.Stage{Protocol: p, Observe: by})
	return err
}

// PictureFile is the path of the picture of the row's script, from the folder docs.
func (r *Row) PictureFile() string { return "pictures/published/" + r.Slug() + ".svg" }

// Drawing returns how the picture of the row's script is drawn.
func (r *Row) Drawing() draw.Picture {
	return draw.Picture{
		Title:  fmt.Sprintf("%s without %q", r.Protocol, r.Rule),
		Repeat: "holdfast sim replay sim/published/" + r.ScriptFile(),
		Events: 120,
	}
}
