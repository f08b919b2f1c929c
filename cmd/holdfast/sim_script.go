package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-locks/holdfast/sim"
	"github.com/holdfast-locks/holdfast/sim/shrink"
)

// simShrink finds the smallest script of a failing seed, and writes it into a folder, or prints it if there is none.
func (p *program) simShrink(config sim.Config, seed uint64, folder string, budget shrink.Config) error {
	shrunk, err := shrink.Seed(config, seed, budget)
	if err != nil {
		return fmt.Errorf("shrink seed %d: %w", seed, err)
	}
	transcript, _, err := sim.Transcript(shrunk.Script, config.Protocol)
	if err != nil {
		return fmt.Errorf("shrink seed %d: %w", seed, err)
	}
	more := ""
	if !shrunk.Done {
		more = "; with more runs than --shrink allows it may become smaller"
	}
	text := shrunk.Script.Text(transcript)
	rest := fmt.Sprintf("this is the script, for sim replay FILE; --save FOLDER writes it and the trace:\n\n%s\n", strings.TrimSuffix(text, "\n"))
	if path := saved(folder, fmt.Sprintf("sim-%d.script", seed)); path != "" {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return fmt.Errorf("write the script: %w", err)
		}
		rest = fmt.Sprintf("play it with: %s sim replay %s", name, path)
	}
	return written(fmt.Fprintf(p.stdout, "shrunk in %d runs from %v to %v%s\n%s\n",
		shrunk.To.Runs, shrunk.From, shrunk.To, more, rest))
}

// replayScript plays a script, reports the events, and compares the verdict with the one at its end.
func (p *program) replayScript(path string, file io.Reader, trace string, picture *drawing) error {
	text, err := io.ReadAll(file)
	if err != nil {
		return badTrace("sim replay: read the file: %w", err)
	}
	script, golden, err := sim.ParseScript(string(text))
	if err != nil {
		return badTrace("sim replay: %s: %w", path, err)
	}
	protocol, known := sim.Find(script.Protocol)
	if !known {
		return badTrace("sim replay: %s: protocol %q is none that can be simulated; %s are allowed", path, script.Protocol, sim.Names())
	}
	defer script.SwitchOff()()
	transcript, played, err := sim.Transcript(script, protocol)
	if err != nil {
		return badTrace("sim replay: %s: %w", path, err)
	}
	if err := written(fmt.Fprint(p.stdout, transcript)); err != nil {
		return err
	}
	if err := scriptFiles(script, protocol, path, trace, picture); err != nil {
		return err
	}
	if err := p.printVoid(&played); err != nil {
		return err
	}
	asWritten, before := "", strings.SplitN(golden, "\n", 2)[0]
	if before != "" {
		asWritten = fmt.Sprintf(" as_written=%t", before == played.Verdict())
		if before != played.Verdict() {
			if err := written(fmt.Fprintf(p.stdout, "the file says: %s\nand now it is: %s\n", before, played.Verdict())); err != nil {
				return err
			}
		}
	}
	promise := ""
	if played.Outcome == sim.Stuck || played.Outcome == sim.Violated {
		promise = " promise=" + played.Violation.Promise
	}
	if err := written(fmt.Fprintf(p.stdout, "replay: %v protocol=%s%s step=%d%s\n", played.Outcome, script.Protocol, promise, played.Steps, asWritten+picture.field())); err != nil {
		return err
	}
	if played.Outcome == sim.OK {
		return nil
	}
	return &exitError{code: simExit(played.Outcome)}
}

// printVoid lists a script's lines without effect.
func (p *program) printVoid(played *sim.Played) error {
	for i := range played.Void {
		if err := written(fmt.Fprintf(p.stdout, "nothing asks for: %v\n", &played.Void[i])); err != nil {
			return err
		}
	}
	for i := range played.Wrong {
		if err := written(fmt.Fprintf(p.stdout, "cannot be: %v; %s\n", &played.Wrong[i].Choice, played.Wrong[i].Allowed)); err != nil {
			return err
		}
	}
	return nil
}

// scriptFiles plays a script again, if the user wants a line for each event, or a picture.
func scriptFiles(script *sim.Script, protocol sim.Protocol, path, trace string, picture *drawing) error {
	if trace == "" && picture.path == "" {
		return nil
	}
	var lines strings.Builder
	stage := sim.Stage{Protocol: protocol, Observe: picture.observer()}
	if trace != "" {
		stage.Trace = &lines
	}
	if _, err := sim.Play(script, stage); err != nil {
		return err
	}
	if trace != "" {
		if err := os.WriteFile(trace, []byte(lines.String()), 0o644); err != nil {
			return fmt.Errorf("write the trace: %w", err)
		}
	}
	return picture.write(fmt.Sprintf("%s, script %s", script.Protocol, filepath.Base(path)), name+" sim replay "+path)
}
