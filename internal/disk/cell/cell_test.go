package cell_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast/internal/disk/cell"
	"github.com/holdfast-locks/holdfast/storage"
)

// The environment that makes the test binary another process that opens a folder.
const otherFolder = "HOLDFAST_TEST_OTHER_FOLDER"

func TestMain(m *testing.M) {
	if folder := os.Getenv(otherFolder); folder != "" {
		other(folder)
		return
	}
	goleak.VerifyTestMain(m)
}

// other opens the folder, says so, and waits until its standard input ends.
func other(folder string) {
	if _, _, err := cell.Open(folder); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("open")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
	}
}

func open(t *testing.T, folder string) (*cell.Cell, []byte) {
	t.Helper()
	c, data, err := cell.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	return c, data
}

func save(t *testing.T, c *cell.Cell, text string) {
	t.Helper()
	if saved := c.Save(storage.Save{ID: 7, Data: []byte(text)}); saved.Err != nil || saved.ID != 7 {
		t.Fatalf("saving %q: %+v", text, saved)
	}
}

func closeCell(t *testing.T, c *cell.Cell) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// says checks that err is a sentence with all of words.
func says(t *testing.T, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one that says %q", want)
	}
	for _, text := range want {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q does not say %q", err, text)
		}
	}
}

// TestRoundTrip: a folder that has never held a cell gives nil, then what was saved
// last, also nothing at all, which is not the same as no cell.
func TestRoundTrip(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "deep", "state")
	c, data := open(t, folder)
	if data != nil {
		t.Errorf("a new folder holds %q", data)
	}
	closeCell(t, c)
	for _, texts := range [][]string{{"first"}, {"second, which is longer", "third"}, {""}, {"\x00\xff"}} {
		c, _ = open(t, folder)
		for _, text := range texts {
			save(t, c, text)
		}
		closeCell(t, c)
		last := texts[len(texts)-1]
		if c, data = open(t, folder); data == nil || string(data) != last {
			t.Errorf("saved %q, read %q", last, data)
		}
		closeCell(t, c)
	}
}

// TestOthersMayNotRead: a cell is the member's own.
func TestOthersMayNotRead(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "state")
	c, _ := open(t, folder)
	defer closeCell(t, c)
	save(t, c, "text")
	for _, path := range []string{folder, filepath.Join(folder, "cell"), filepath.Join(folder, "lock")} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			t.Errorf("%s has mode %v", path, mode)
		}
	}
}

// TestCrashBetween: what a crash before the rename leaves behind is not the cell, and
// does not get in the way of the next.
func TestCrashBetween(t *testing.T) {
	folder := t.TempDir()
	c, _ := open(t, folder)
	save(t, c, "old")
	closeCell(t, c)
	leftover := filepath.Join(folder, "cell.new")
	if err := os.WriteFile(leftover, []byte("half of something far longer than new"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, data := open(t, folder)
	if string(data) != "old" {
		t.Errorf("after the crash the cell is %q", data)
	}
	save(t, c, "new")
	closeCell(t, c)
	if c, data = open(t, folder); string(data) != "new" {
		t.Errorf("after the crash %q was saved, %q was read", "new", data)
	}
	closeCell(t, c)
	if _, err := os.Stat(leftover); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary file is still there: %v", err)
	}
}

// TestCrashBeforeTheFirst: a leftover alone is no cell.
func TestCrashBeforeTheFirst(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "cell.new"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, data := open(t, folder)
	defer closeCell(t, c)
	if data != nil {
		t.Errorf("the folder holds %q", data)
	}
}

// TestReplacesAtomically: a reader that reads while it is replaced finds an old cell or
// a new one, whole.
func TestReplacesAtomically(t *testing.T) {
	const size, saves = 4096, 20
	folder := t.TempDir()
	c, _ := open(t, folder)
	defer closeCell(t, c)
	save(t, c, strings.Repeat("a", size))
	done := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			data, err := os.ReadFile(filepath.Join(folder, "cell"))
			if err != nil || len(data) != size || strings.Count(string(data), string(data[:1])) != size {
				t.Errorf("read %d bytes, %v", len(data), err)
				return
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for i := range saves {
		save(t, c, strings.Repeat(string(rune('a'+i%26)), size))
	}
	close(done)
	reader.Wait()
}

// TestOneMemberPerFolder: within a process, and when the first has ended.
func TestOneMemberPerFolder(t *testing.T) {
	folder := t.TempDir()
	c, _ := open(t, folder)
	save(t, c, "mine")
	for range 2 {
		_, _, err := cell.Open(folder)
		if !errors.Is(err, cell.ErrInUse) {
			t.Errorf("opened twice: %v", err)
		}
		says(t, err, "lock state folder "+folder+": another process is this member")
	}
	save(t, c, "still mine")
	closeCell(t, c)
	c, data := open(t, folder)
	if string(data) != "still mine" {
		t.Errorf("read %q", data)
	}
	closeCell(t, c)
}

// TestOneProcessPerFolder: the lock ends with the process, whichever way that ends.
func TestOneProcessPerFolder(t *testing.T) {
	folder := t.TempDir()
	process := exec.Command(os.Args[0])
	process.Env = append(os.Environ(), otherFolder+"="+folder)
	in, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "open\n" {
		t.Errorf("the other process says %q, %v", line, err)
	}
	if _, _, err := cell.Open(folder); !errors.Is(err, cell.ErrInUse) {
		t.Errorf("two processes are one member: %v", err)
	}
	if err := process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := process.Wait(); err == nil {
		t.Error("a killed process ended well")
	}
	c, _ := open(t, folder)
	defer closeCell(t, c)
	second := exec.Command(os.Args[0])
	second.Env = append(os.Environ(), otherFolder+"="+folder)
	text, err := second.CombinedOutput()
	if err != nil || !strings.Contains(string(text), cell.ErrInUse.Error()) {
		t.Errorf("a process that comes second says %q, %v", text, err)
	}
}

// TestOpenRefusesWhatCannotBeKept: the sentences name what was tried, and where.
func TestOpenRefusesWhatCannotBeKept(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, prepare := range map[string]func() (folder string, want []string){
		"the folder is a file":   func() (string, []string) { return file, []string{"create state folder", file} },
		"a file is in the way":   func() (string, []string) { return filepath.Join(file, "state"), []string{"create state folder", file} },
		"the lock is a folder":   func() (string, []string) { return occupied(t, "lock"), []string{"open state folder", "lock"} },
		"the cell is a folder":   func() (string, []string) { return occupied(t, "cell"), []string{"read stable cell", "cell"} },
		"nothing can be written": func() (string, []string) { return occupied(t, "cell.new"), []string{"write state folder", "cell.new"} },
		"the system has the say": func() (string, []string) { return "/proc/holdfast", []string{"create state folder", "/proc/holdfast"} },
	} {
		t.Run(name, func(t *testing.T) {
			folder, want := prepare()
			_, _, err := cell.Open(folder)
			says(t, err, want...)
			if errors.Is(err, cell.ErrInUse) {
				t.Errorf("%q is taken for another process", err)
			}
		})
	}
}

// occupied returns a folder where another folder has the name of a file.
func occupied(t *testing.T, name string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, name, "content"), 0o700); err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestRefusedOpenUnlocks: after a cell that could not be read another can try.
func TestRefusedOpenUnlocks(t *testing.T) {
	folder := occupied(t, "cell")
	for range 2 {
		_, _, err := cell.Open(folder)
		says(t, err, "read stable cell")
	}
	if err := os.RemoveAll(filepath.Join(folder, "cell")); err != nil {
		t.Fatal(err)
	}
	c, _ := open(t, folder)
	closeCell(t, c)
}

// TestSaveErrors, and the cell has its old bytes.
func TestSaveErrors(t *testing.T) {
	folder := t.TempDir()
	c, _ := open(t, folder)
	save(t, c, "old")
	if err := os.MkdirAll(filepath.Join(folder, "cell.new", "content"), 0o700); err != nil {
		t.Fatal(err)
	}
	saved := c.Save(storage.Save{ID: 9, Data: []byte("new")})
	if saved.ID != 9 {
		t.Errorf("the answer is to write %d", saved.ID)
	}
	says(t, saved.Err, "write stable cell", "cell.new")
	closeCell(t, c)
	if err := os.RemoveAll(filepath.Join(folder, "cell.new")); err != nil {
		t.Fatal(err)
	}
	c, data := open(t, folder)
	defer closeCell(t, c)
	if string(data) != "old" {
		t.Errorf("the cell is %q", data)
	}
	save(t, c, "new") // the disk is well again
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	says(t, c.Save(storage.Save{ID: 10}).Err, "write stable cell", folder)
}

// TestSaveOverAFolder: a rename that is refused is reported too.
func TestSaveOverAFolder(t *testing.T) {
	folder := t.TempDir()
	c, _ := open(t, folder)
	defer closeCell(t, c)
	if err := os.MkdirAll(filepath.Join(folder, "cell", "content"), 0o700); err != nil {
		t.Fatal(err)
	}
	says(t, c.Save(storage.Save{ID: 1, Data: []byte("new")}).Err, "replace stable cell", "cell")
}

// TestCloseTwice is reported, because the second unlocks nothing.
func TestCloseTwice(t *testing.T) {
	folder := t.TempDir()
	c, _ := open(t, folder)
	closeCell(t, c)
	says(t, c.Close(), "unlock state folder "+folder)
}

// TestReplace: another file is there as a whole, and no other next to it.
func TestReplace(t *testing.T) {
	folder := t.TempDir()
	for _, text := range []string{"first, which is longer", "second"} {
		if err := cell.Replace(folder, "spaces", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if has, err := os.ReadFile(filepath.Join(folder, "spaces")); err != nil || string(has) != text {
			t.Errorf("it has %q, %v; want %q", has, err, text)
		}
	}
	if names, err := os.ReadDir(folder); err != nil || len(names) != 1 {
		t.Errorf("the folder has %v, %v", names, err)
	}
	if err := cell.Replace(filepath.Join(folder, "none"), "spaces", nil); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("in a folder that is not there: %v", err)
	}
}
