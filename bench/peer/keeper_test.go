package peer

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fakePlan keeps a server that serves nothing. TMPDIR, which keepers inherit, is the
// test's own from here on.
func fakePlan(t *testing.T, manner string) (plan Plan, scratch string) {
	t.Helper()
	scratch = t.TempDir()
	t.Setenv("TMPDIR", scratch)
	return Plan{Name: "fake", Ready: "ready to serve", Commands: [][]string{{own(t), fakeWord, manner, folder + "/process"}}}, scratch
}

// left fails where a folder is not empty.
func left(t *testing.T, scratch string) {
	t.Helper()
	if found, err := os.ReadDir(scratch); err != nil || len(found) > 0 {
		t.Errorf("left: %v, %v", found, err)
	}
}

// TestKeeper: a server serves when it says so, has what it has used, and ends with its
// folder, whether it heeds the order to end or not.
func TestKeeper(t *testing.T) {
	for _, manner := range []string{ready, deaf} {
		t.Run(manner, func(t *testing.T) {
			plan, scratch := fakePlan(t, manner)
			plan.Order = patience
			s, err := startServer(limited(t), config(t).Keeper, plan)
			if err != nil {
				t.Fatal(err)
			}
			folders, err := filepath.Glob(filepath.Join(scratch, "holdfast-bench-fake-*"))
			if err != nil || len(folders) != 1 {
				t.Fatal(folders, err)
			}
			text, err := os.ReadFile(filepath.Join(folders[0], "process"))
			if err != nil || string(text) != strconv.Itoa(s.process) {
				t.Errorf("the server is process %s, %v; its keeper says %d", text, err, s.process)
			}
			if _, err := usageOf(s.process, true); err != nil {
				t.Error(err)
			}
			if err := s.stop(); err != nil {
				t.Error(err)
			}
			if err := syscall.Kill(s.process, 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("the server is left: %v", err)
			}
			left(t, scratch)
		})
	}
}

// TestKeeperFails: what keeps a server from serving is reported, and nothing is left.
func TestKeeperFails(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Plan)
		want   string
	}{
		{"falling", func(p *Plan) { p.Commands[0][2] = falling }, "the server has ended: exit status 3; it says: it was too much"},
		{"no program", func(p *Plan) { p.Commands[0][0] = folder + "/nothing" }, "start nothing: "},
		{"no preparation", func(p *Plan) { p.Commands = append([][]string{{folder + "/nothing"}}, p.Commands...) }, "start nothing: "},
		{"bad preparation", func(p *Plan) {
			p.Commands = append([][]string{{own(t), fakeWord, falling, folder + "/process"}}, p.Commands...)
		}, "exit status 3; it says: it was too much"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plan, scratch := fakePlan(t, ready)
			tt.change(&plan)
			if _, err := startServer(limited(t), config(t).Keeper, plan); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			left(t, scratch)
		})
	}
}

// TestKeeperSilent: a server that never serves is waited for only as long as wanted,
// while it runs and while it is prepared.
func TestKeeperSilent(t *testing.T) {
	for _, before := range []int{0, 1} {
		plan, scratch := fakePlan(t, silent)
		for range before {
			plan.Commands = append(plan.Commands, plan.Commands[0])
		}
		ctx, cancel := context.WithTimeout(limited(t), 50*time.Millisecond)
		if _, err := startServer(ctx, config(t).Keeper, plan); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		cancel()
		left(t, scratch)
	}
}

// TestBenchKilled: when the leash ends as it does when the bench dies, the server ends
// and its folder goes.
func TestBenchKilled(t *testing.T) {
	plan, scratch := fakePlan(t, ready)
	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	keeper := exec.Command(own(t), keeperWord, string(text))
	leash, err := keeper.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := keeper.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := keeper.Start(); err != nil {
		t.Fatal(err)
	}
	events := json.NewDecoder(said)
	var server int
	for event := (told{}); event.Event != "ready"; {
		if err := events.Decode(&event); err != nil {
			t.Fatal(err)
		}
		server = max(server, event.Process)
	}
	// No process hears the keeper any more, and none holds its leash.
	if err := errors.Join(said.Close(), leash.Close()); err != nil {
		t.Fatal(err)
	}
	if err := keeper.Wait(); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(server, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the server is left: %v", err)
	}
	left(t, scratch)
}

// TestPlanRefused: a bad plan is reported, and nothing is begun.
func TestPlanRefused(t *testing.T) {
	said, err := exec.Command(own(t), keeperWord, "no plan").CombinedOutput()
	if err == nil || !strings.Contains(string(said), "read the plan: ") {
		t.Errorf("%v: %s", err, said)
	}
}
