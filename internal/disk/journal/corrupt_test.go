package journal_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/holdfast-locks/holdfast/internal/disk/journal"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/storage"
)

// files lists the files below a folder, with what they have.
func files(t testing.TB, fs *vfs.MemFS, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	names, err := fs.List(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		at := fs.PathJoin(folder, name)
		info, err := fs.Stat(at)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() {
			for name, text := range files(t, fs, at) {
				all[name] = text
			}
			continue
		}
		data, err := fs.UnsafeGetFileDataBuffer(at)
		if err != nil {
			t.Fatal(err)
		}
		all[at] = string(data)
	}
	return all
}

// small makes a folder with a bit of everything, in tables and in the database's log.
func small(t testing.TB) *vfs.MemFS {
	t.Helper()
	disk := vfs.NewCrashableMem()
	j := open(t, disk, "f")
	do(t, j, storage.Append{Log: 1, First: 1, Records: records("one", "two", "three", "four"), State: []byte("state")},
		storage.Chunk{Log: 1, Snapshot: 1, Data: []byte("chunk")}, storage.Chunk{Log: 1, Snapshot: 1, Number: 1, Data: []byte("chunk")},
		storage.Install{Log: 1, Snapshot: 1, Chunks: 2, Drop: 2, Meta: []byte("meta")},
		storage.Append{Log: 2, First: 1, Records: records("same", "same", "same")})
	closeJournal(t, j)
	j = open(t, disk, "f")
	do(t, j, storage.Append{Log: 1, First: 4, Records: records("FOUR", "five")}, storage.Append{Log: 2, First: 4, Records: records("same", "same")},
		storage.Append{Log: 3, State: []byte("state")}, storage.Chunk{Log: 2, Snapshot: 1, Data: []byte("unfinished")})
	closeJournal(t, j)
	return disk
}

// all tells what the logs of small have.
func all(t testing.TB, fs vfs.FS) (lines []string, err error) {
	t.Helper()
	j, err := journal.Open("f", journal.Options{Identity: mine, FS: fs, Ahead: ahead})
	if err != nil {
		return nil, err
	}
	for log := range uint64(5) {
		text, e := dump(t, j, log)
		lines, err = append(lines, text), errors.Join(err, e)
	}
	return lines, errors.Join(err, j.Close())
}

func copyOf(disk *vfs.MemFS) *vfs.MemFS {
	return disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(0, 0))})
}

// TestEveryByte of a folder that was closed, flipped: what is read is what was written, or an
// error. Check says so too, and changes nothing. Of the database's options, which are text that is
// compared with our own, each fifth byte is.
func TestEveryByte(t *testing.T) {
	t.Parallel()
	step := 1
	if testing.Short() {
		step = 25
	}
	disk := small(t)
	right, err := all(t, copyOf(disk))
	if err != nil {
		t.Fatal(err)
	}
	found, harmless := 0, map[string]int{}
	random := rand.New(rand.NewPCG(1, 1))
	for name, text := range files(t, disk, "f") {
		step := step
		if strings.Contains(name, "OPTIONS") {
			step *= 5
		}
		for i := 0; i < len(text); i += step {
			sick := copyOf(disk)
			data, err := sick.UnsafeGetFileDataBuffer(name)
			if err != nil {
				t.Fatal(err)
			}
			data[i] ^= 1 << random.IntN(8)
			before := files(t, sick, "f")
			findings, checkErr := journal.Check(sick, "f")
			if after := files(t, sick, "f"); !maps.Equal(before, after) {
				t.Fatalf("byte %d of %s: Check has changed something", i, name)
			}
			got, err := all(t, sick)
			switch sound := checkErr == nil && len(findings) == 0; {
			case err != nil && sound:
				t.Errorf("byte %d of %s: Check finds nothing, and Open says %v", i, name, err)
			case err == nil && !sound:
				t.Errorf("byte %d of %s: Check says %v, %v, and Open nothing", i, name, checkErr, findings)
			case err == nil && !slices.Equal(got, right):
				t.Errorf("byte %d of %s: it has\n%q\nand had\n%q", i, name, got, right)
			case err == nil:
				harmless[name]++
			default:
				found++
				corrupt, format, identity := (*journal.CorruptError)(nil), (*journal.FormatError)(nil), (*journal.IdentityError)(nil)
				if !errors.As(err, &corrupt) && !errors.As(err, &format) && !errors.As(err, &identity) {
					t.Errorf("byte %d of %s: %v", i, name, err)
				}
				if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "carrier") {
					t.Errorf("byte %d of %s: %q; want a sentence", i, name, err)
				}
			}
		}
	}
	if found < 1000/step {
		t.Errorf("only %d flips were found", found)
	}
	t.Logf("%d flips were found, these did no harm: %v", found, harmless)
}

// TestEveryFile that is missing, or cut to half, is found.
func TestEveryFile(t *testing.T) {
	disk := small(t)
	right, err := all(t, copyOf(disk))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files(t, disk, "f") {
		for _, cut := range []bool{false, true} {
			sick := copyOf(disk)
			if err := sick.Remove(name); err != nil {
				t.Fatal(err)
			}
			if cut {
				f, err := sick.Create(name, vfs.WriteCategoryUnspecified)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := f.Write([]byte(text[:len(text)/2])); err != nil {
					t.Fatal(err)
				}
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
			}
			findings, checkErr := journal.Check(sick, "f")
			got, err := all(t, sick)
			if (err == nil) != (checkErr == nil && len(findings) == 0) {
				t.Errorf("%s, cut %v: Check says %v, %v, and Open %v", name, cut, findings, checkErr, err)
			}
			if err == nil && !slices.Equal(got, right) {
				t.Errorf("%s, cut %v: it has\n%q\nand had\n%q", name, cut, got, right)
			}
		}
	}
}

// reached is the file that is written with every batch and not synced.
const reached = "f/journal/reached"

// replaceFile writes a file as a whole, in place of the one that is there.
func replaceFile(t *testing.T, fs vfs.FS, name, text string) {
	t.Helper()
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write([]byte(text))
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// crashed makes a folder as a process leaves it that is killed, and tells what it has, and what it would have without its
// last batch. Kept is whether the kernel still has what was not synced.
func crashed(t *testing.T, kept bool) (disk *vfs.MemFS, right, cut []string) {
	t.Helper()
	running := vfs.NewCrashableMem()
	j := open(t, running, "f")
	data, err := running.UnsafeGetFileDataBuffer(reached)
	if err != nil {
		t.Fatal(err)
	}
	begun := string(data)      // the database still removes files, so that not all can be read
	for i := range uint64(6) { // so that tables are written, and logs of the database used again
		do(t, j, storage.Append{Log: i % 2, First: i/2 + 1, Records: [][]byte{make([]byte, 60_000)}})
	}
	do(t, j, storage.Append{Log: 2, First: 1, Records: records("one", "two")}, storage.Append{Log: 1, State: []byte("s")},
		storage.Append{Log: 2, First: 2, Records: records("TWO", "three")})
	cut, err = all(t, copyOf(running))
	if err != nil {
		t.Fatal(err)
	}
	do(t, j, storage.Append{Log: 2, First: 3, Records: records("THREE"), State: []byte("s")})
	disk = copyOf(running)
	closeJournal(t, j)
	if !kept {
		replaceFile(t, disk, reached, begun)
	}
	right, err = all(t, copyOf(disk))
	if err != nil || slices.Equal(cut, right) {
		t.Fatal(err, right)
	}
	return disk, right, cut
}

// TestNewestLog of the database, removed, cut, emptied or filled with zeros after the process was killed, is found, and so
// is it after a power cut, but for the zeros. A folder in which nothing is wrong is opened.
func TestNewestLog(t *testing.T) {
	for name, kept := range map[string]bool{"killed": true, "power cut": false} {
		t.Run(name, func(t *testing.T) {
			disk, _, _ := crashed(t, kept)
			newest, size := "", 0
			for name, text := range files(t, disk, "f") {
				if strings.HasSuffix(name, ".log") && name > newest {
					newest, size = name, len(text)
				}
			}
			text := files(t, disk, "f")[newest]
			for what, damage := range map[string]func(*vfs.MemFS){
				"its newest log, " + disk.PathBase(newest) + ", is missing": func(sick *vfs.MemFS) {
					if err := sick.Remove(newest); err != nil {
						t.Fatal(err)
					}
				},
				fmt.Sprintf("has 0 of %d bytes", size):          func(sick *vfs.MemFS) { replaceFile(t, sick, newest, "") },
				fmt.Sprintf("has %d of %d bytes", size-1, size): func(sick *vfs.MemFS) { replaceFile(t, sick, newest, text[:size-1]) },
				fmt.Sprintf("has %d of %d bytes", size/2, size): func(sick *vfs.MemFS) { replaceFile(t, sick, newest, text[:size/2]) },
				"what came last is lost; replace this member":   func(sick *vfs.MemFS) { replaceFile(t, sick, newest, strings.Repeat("\x00", size)) },
			} {
				sick := copyOf(disk)
				damage(sick)
				if !kept && strings.HasPrefix(what, "what") {
					continue // nothing can tell zeros from what was not written yet
				}
				findings, err := journal.Check(sick, "f")
				if err != nil || len(findings) == 0 || !strings.Contains(findings[0].Error(), what) {
					t.Errorf("Check finds %v, %v; want %q", findings, err, what)
				}
				if _, err := all(t, sick); err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), "replace this member by a new one") {
					t.Errorf("Open: %v; want %q", err, what)
				}
			}
		})
	}
}

// TestBytesAfterACrash, flipped: what is read is what was written, or an error; but after a power cut a last batch that
// rots looks like one that was cut off, and it alone.
func TestBytesAfterACrash(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	for name, kept := range map[string]bool{"killed": true, "power cut": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			disk, right, cut := crashed(t, kept)
			random, flips, found, lost := rand.New(rand.NewPCG(2, 2)), 0, 0, 0
			for name, text := range files(t, disk, "f") {
				for _, i := range places(random, name, text) {
					if testing.Short() && flips > 60 {
						continue
					}
					sick := copyOf(disk)
					data, err := sick.UnsafeGetFileDataBuffer(name)
					if err != nil {
						t.Fatal(err)
					}
					data[i] ^= 1 << random.IntN(8)
					got, err := all(t, sick)
					flips++
					switch inLog := strings.HasSuffix(name, ".log"); {
					case err != nil:
						found++
					case !kept && inLog && slices.Equal(got, cut):
						lost++
					case !slices.Equal(got, right):
						t.Errorf("byte %d of %d of %s: it has\n%.100q\nand had\n%.100q", i, len(text), name, got, right)
					}
				}
			}
			if !testing.Short() && (found < 60 || !kept && lost < 2) {
				t.Errorf("%d of %d flips were found, and %d have cost the last batch; too few to mean anything", found, flips, lost)
			}
			t.Logf("%d of %d flips were found, and %d have cost the last batch", found, flips, lost)
		})
	}
}

// places draws bytes of a file: everywhere, and many at the end of a log, where the last batches are.
func places(random *rand.Rand, name, text string) (all []int) {
	for i := random.IntN(1 + len(text)/15); i < len(text); i += 1 + random.IntN(1+len(text)/8) {
		all = append(all, i)
	}
	if strings.HasSuffix(name, ".log") {
		for i := max(0, len(text)-1500); i < len(text); i += 1 + random.IntN(30) {
			all = append(all, i)
		}
	}
	return all
}
