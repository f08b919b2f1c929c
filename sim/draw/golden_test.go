package draw

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/test/golden"
	"github.com/holdfast-locks/holdfast/sim"
	"github.com/holdfast-locks/holdfast/sim/timeline"
)

// kept is a picture in the documentation, of a run of central with three members.
type kept struct {
	file     string
	faults   sim.Faults
	duration time.Duration
	seed     uint64
	broken   bool // the run breaks a promise
	picture  Picture
}

// goldens are the pictures of docs/simulator.md, which has the commands that make them.
var goldens = []kept{
	{"shared.svg", 1<<sim.Partition | 1<<sim.Crash | 1<<sim.Pause, 10 * time.Second, 2, false, Picture{From: 3 * time.Second, Events: 80}},
	{"crash.svg", 1 << sim.Crash, 10 * time.Second, 6, false, Picture{From: 3 * time.Second, To: 17200 * time.Millisecond}},
	{"broken.svg", 1 << sim.DriftBeyond, 10 * time.Second, 7, true, Picture{Events: 60}},
}

// TestPicturesOfTheDocumentation checks that the pictures are those that the code draws now.
//
//	go test ./sim/draw -run TestPicturesOfTheDocumentation -rewrite
func TestPicturesOfTheDocumentation(t *testing.T) {
	for _, g := range goldens {
		t.Run(g.file, func(t *testing.T) {
			golden.Match(t, inDocs(g.file), string(g.draw(t)))
		})
	}
	for _, protocol := range []string{"central", "grantor", "bakery", "permission", "claim", "consensus"} {
		t.Run(protocol, func(t *testing.T) {
			golden.Match(t, inDocs(protocol+".svg"), string(drawScript(t, protocol)))
		})
	}
}

// inDocs is the path of a picture in the documentation.
func inDocs(file string) string { return filepath.Join("..", "..", "docs", "pictures", file) }

// drawScript draws the picture for a protocol's page: testdata has the script of a lock that goes from one client to
// another.
func drawScript(t *testing.T, protocol string) []byte {
	path := "testdata/" + protocol + ".script"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	script, _, err := sim.ParseScript(string(text))
	if err != nil {
		t.Fatal(err)
	}
	found, _ := sim.Find(protocol)
	var events []timeline.Event
	played, err := sim.Play(script, sim.Stage{Protocol: found, Observe: func(h timeline.Event) { events = append(events, h) }})
	if err != nil || played.Outcome != sim.OK || script.Protocol != protocol {
		t.Fatalf("%s is of protocol %s, and ends with %v, %v", path, script.Protocol, played.Outcome, err)
	}
	p := Picture{
		Title: protocol + ": a lock goes from a client of b to a client of c", Repeat: "holdfast sim replay sim/draw/" + path,
		From: 4990 * time.Millisecond, To: 5600 * time.Millisecond,
	}
	var b bytes.Buffer
	if err := p.Write(&b, events); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// draw draws the picture that `holdfast sim` would draw.
func (g *kept) draw(t *testing.T) []byte {
	protocol, _ := sim.Find("central")
	var events []timeline.Event
	c := sim.Config{
		Protocol: protocol, Members: 3, Faults: g.faults, Duration: g.duration,
		Observe: func(h timeline.Event) { events = append(events, h) },
	}
	result, err := sim.Run(c, g.seed, nil)
	if err != nil {
		t.Fatal(err)
	}
	if (result.Outcome == sim.Violated) != g.broken {
		t.Fatalf("seed %d ends with %v: the picture needs another seed", g.seed, result.Outcome)
	}
	p := g.picture
	p.Title = fmt.Sprintf("central, seed %d", g.seed)
	p.Repeat = fmt.Sprintf("holdfast sim --protocol central --seed %d --faults %v --duration %v --members 3", g.seed, g.faults, g.duration)
	var b bytes.Buffer
	if err := p.Write(&b, events); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
