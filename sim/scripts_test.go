package sim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/test/golden"
	"github.com/holdfast-locks/holdfast/protocol/option"
)

// TestScripts plays the stored scripts: each must have its verdict, and match its transcript. A script with a line
// "without" breaks nothing while that rule is on.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/scripts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no script is kept: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { testScript(t, file) })
	}
}

func testScript(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	script, _, err := ParseScript(string(text))
	if err != nil {
		t.Fatal(err)
	}
	p, _ := Find(script.Protocol)
	if script.Without != "" {
		fine, err := Play(script, Stage{Protocol: p})
		if err != nil || fine.Outcome != OK {
			t.Errorf("with the rule %q on: %v, %v", script.Without, fine.Verdict(), err)
		}
	}
	on := script.SwitchOff()
	defer on()
	transcript, played, err := Transcript(script, p)
	if err != nil {
		t.Fatal(err)
	}
	for i := range played.Void {
		t.Errorf("nothing asks for %v", &played.Void[i])
	}
	for _, wrong := range played.Wrong {
		t.Errorf("%v: %s", &wrong.Choice, wrong.Allowed)
	}
	if len(script.Choices) > 10 || script.Members > 3 || script.Clients > 2 {
		t.Errorf("%d members, %d clients, %d choices: too many to read", script.Members, script.Clients, len(script.Choices))
	}
	if script.Without != "" && played.Outcome == OK {
		t.Errorf("without the rule %q it breaks nothing", script.Without)
	}
	head, _, _ := strings.Cut(string(text), "\n"+below+"\n")
	golden.Match(t, file, strings.TrimRight(head, "\n")+"\n"+below+"\n"+transcript)
}

// TestTheUsualRunIsSensible checks that with an empty script all members form a view, and each worker has each name
// once.
func TestTheUsualRunIsSensible(t *testing.T) {
	for _, p := range Protocols() {
		s := usualScript()
		s.Protocol, s.Founders, s.Clients, s.Workers, s.Duration = p.Name, s.Members, 2, 2, 5*time.Second
		if p.Locks {
			s.Names = []Name{{Name: "n0"}, {Name: "n1"}}
		}
		played, err := Play(&s, Stage{Protocol: p})
		if err != nil {
			t.Fatal(err)
		}
		if played.Outcome != OK || p.Locks && played.counts.grants != 8 {
			t.Errorf("%s: %s, %d grants of 8", p.Name, played.Verdict(), played.counts.grants)
		}
	}
}

// TestScriptsAreReadAsTheyAreWritten checks that every seed's script is read back unchanged.
func TestScriptsAreReadAsTheyAreWritten(t *testing.T) {
	script, _, err := Record(config("central"), 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	script.Without, script.Survive = "epoch check off", true
	again, golden, err := ParseScript(script.Text("told\n"))
	if err != nil {
		t.Fatal(err)
	}
	if again.String() != script.String() || golden != "told\n" || !again.Survive {
		t.Errorf("%q; %s", golden, differ(script.String(), again.String()))
	}
}

// TestScriptsSayWhatIsWrong checks that errors have the line, the key, the value, and the allowed values.
func TestScriptsSayWhatIsWrong(t *testing.T) {
	const head = ScriptHeader + "\n[settings]\nprotocol central\n"
	for text, want := range map[string][]string{
		"":                             {"line 1", ScriptHeader},
		"holdfast script 2\n":          {"line 1", "holdfast script 2", ScriptHeader},
		ScriptHeader + "\nmembers 3\n": {"line 2", "members 3", "[settings]"},
		ScriptHeader + "\n[setting]\n": {"line 2", "[setting]", "[settings]"},
		ScriptHeader + "\n":            {"protocol"},
		head + "member 3\n":            {"line 4", "member", "members"},
		head + "members many\n":        {"line 4", "members", "many", "a number"},
		head + "members\n":             {"line 4", "members", "no value"},
		head + "duration 3\n":          {"line 4", "duration", `"3"`, "20s"},
		head + "faults crash,fire\n":   {"line 4", "fire", "crash"},
		head + "cells gone\n":          {"line 4", "gone", "kept"},
		head + "names a/b\n":           {"line 4", "a/b", "n1/shared"},
		head + "names a a\n":           {"line 4", "a a", "each once"},
		head + "one-crash maybe\n":     {"line 4", "maybe", "yes or no"},
		head + "members 3\nmembers 4\n": {
			"line 5", "members", "line 4"},
		head + "[faults]\ncrash#1 at\n":                        {"line 5", "crash#1 at", "value"},
		head + "[faults]\ncrash#0 at 3s\n":                     {"line 5", "crash#0", "counts from 1"},
		head + "[faults]\ncrash#1 at 3s\ncrash#1 at 4s\n":      {"line 6", "crash#1 at", "line 5"},
		head + "[faults]\na b crash#1 at 3s and so on forth\n": {"line 5", "words"},
	} {
		_, _, err := ParseScript(text)
		if err == nil {
			t.Errorf("%q is taken", text)
			continue
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q: %v; want %q in it", text, err, part)
			}
		}
	}
}

// TestScriptsThatCannotBePlayed checks that errors have the setting, its value, and the allowed values.
func TestScriptsThatCannotBePlayed(t *testing.T) {
	p, _ := Find("central")
	for want, change := range map[string]func(*Script){
		"protocol \"x\"":  func(s *Script) { s.Protocol = "x" },
		"members 26":      func(s *Script) { s.Members = 26 },
		"founders 4":      func(s *Script) { s.Founders = 4 },
		"clients 0":       func(s *Script) { s.Clients = 0 },
		"workers 101":     func(s *Script) { s.Workers = 101 },
		"visitors -1":     func(s *Script) { s.Visitors = -1 },
		"duration 49h":    func(s *Script) { s.Duration = 49 * time.Hour },
		"lease 0s":        func(s *Script) { s.Lease = 0 },
		"drift 2":         func(s *Script) { s.Drift = 2 },
		"cells \"\"":      func(s *Script) { s.Cells = "" },
		"ttl -1s":         func(s *Script) { s.TTL = -time.Second },
		"names has none":  func(s *Script) { s.Names = nil },
		"bound":           func(s *Script) { s.Waiters = -1 },
		"far 1s from 3s":  func(s *Script) { s.Far, s.FarFrom, s.FarUntil = time.Second, 3*time.Second, 2*time.Second },
		"far 0s from 3s":  func(s *Script) { s.FarFrom = 3 * time.Second },
		`option "shards"`: func(s *Script) { s.Options = option.Values{"shards": "2"} },
	} {
		s := usualScript()
		s.Protocol, s.Founders, s.Names = "central", 3, []Name{{Name: "n"}}
		change(&s)
		if _, err := Play(&s, Stage{Protocol: p}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestWhatCannotBeIsReported checks that choices that no run makes are reported, and those of a wrong type.
func TestWhatCannotBeIsReported(t *testing.T) {
	script, _, err := ParseScript(ScriptHeader + `
[settings]
protocol central
clients 1
names n0
duration 3s
[faults]
crash#1 at 2s
crash#1 member z
crash#2 at soon
[users]
client0.0 call#1 at 1.5s
client0.0 call#1 hold often
client0.0 call#1 writes 9
client0.0 call#2 hold 1s
client7.0 call#1 at 1s
`)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := Find("central")
	played, err := Play(script, Stage{Protocol: p})
	if err != nil {
		t.Fatal(err)
	}
	var void, wrong []string
	for i := range played.Void {
		void = append(void, played.Void[i].Key())
	}
	for i := range played.Wrong {
		wrong = append(wrong, played.Wrong[i].Choice.Key())
	}
	if got := strings.Join(void, ", "); got != "client0.0 call#2 hold, client7.0 call#1 at" {
		t.Errorf("void: %s", got)
	}
	if got := strings.Join(wrong, ", "); got != "crash#1 member, crash#2 at, client0.0 call#1 hold, client0.0 call#1 writes" {
		t.Errorf("wrong: %s", got)
	}
}

// FuzzScript checks that an accepted script is formatted as one that reads the same.
func FuzzScript(f *testing.F) {
	f.Add(ScriptHeader + "\n[settings]\nprotocol central\nmembers 2\nnames n0 n1/slots/3\nfaults crash,any\n[faults]\ncrash#1 at 3s\n[messages]\na→b membership.Poll#5 latency 2s\n----\nok\n")
	f.Add(ScriptHeader + "\n[settings]\nprotocol election\ndrift 0.25\ncells kept\n[users]\nclient0.0 call#3 waits not\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, _, err := ParseScript(text)
		if err != nil {
			return
		}
		again, _, err := ParseScript(s.String())
		if err != nil {
			t.Fatalf("%v in\n%s", err, s)
		}
		if again.String() != s.String() {
			t.Errorf("%s", differ(s.String(), again.String()))
		}
	})
}
