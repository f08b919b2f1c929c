package recipe_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/test/realstore/recipe"
)

// TestFind checks that Find looks in PATH first, then uses the last match of the pattern, and names the package to
// install.
func TestFind(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PATH", filepath.Join(folder, "path"))
	r := recipe.Recipe{Name: "storekeeper", Pattern: filepath.Join(folder, "*", "storekeeper"), Debian: "storekeepers"}
	var missing *recipe.Missing
	if path, err := r.Find(); !errors.As(err, &missing) || !strings.Contains(err.Error(), "apt-get install storekeepers") {
		t.Errorf("%q, %v", path, err)
	}
	for _, place := range []string{"14", "15", "path"} {
		program := filepath.Join(folder, place, r.Name)
		if err := os.Mkdir(filepath.Dir(program), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(program, nil, 0o755); err != nil {
			t.Fatal(err)
		}
		if path, err := r.Find(); path != program || err != nil {
			t.Errorf("%q, %v; want %q", path, err, program)
		}
	}
}

// TestCommands checks that the commands have the ports and the folder, and that further arguments are appended to the
// server's, never to those of its preparation.
func TestCommands(t *testing.T) {
	for _, r := range []recipe.Recipe{recipe.Etcd(), recipe.Redis(), recipe.PostgreSQL()} {
		ports := []string{"1001", "1002"}[:r.Ports]
		commands := r.Commands("program", "folder", ports, "more", "words")
		last := commands[len(commands)-1]
		if n := len(last); last[0] != "program" || !slices.Equal(last[n-2:], []string{"more", "words"}) {
			t.Errorf("%s: %q", r.Name, last)
		}
		for _, port := range ports {
			if !strings.Contains(strings.Join(last, " "), port) {
				t.Errorf("%s: port %s is not in %q", r.Name, port, last)
			}
		}
		for _, args := range commands {
			if !strings.Contains(strings.Join(args, " "), "folder") {
				t.Errorf("%s: the folder is not in %q", r.Name, args)
			}
		}
	}
}

// TestFamily checks that Family finds the children, and none of a process that has ended.
func TestFamily(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this system is not asked")
	}
	shell := exec.Command("sh", "-c", "(echo; cat); true")
	leash, err := shell.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := shell.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := said.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	family, err := recipe.Family(shell.Process.Pid)
	if err != nil || family[0] != shell.Process.Pid || len(family) < 2 {
		t.Errorf("%v, %v", family, err)
	}
	if err := errors.Join(leash.Close(), shell.Wait()); err != nil {
		t.Fatal(err)
	}
	if family, err = recipe.Family(shell.Process.Pid); err != nil || len(family) != 1 {
		t.Errorf("%v, %v", family, err)
	}
}
