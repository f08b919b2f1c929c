package sim

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The environment variable that makes the test binary print the digest of one run's trace.
const digestOf = "HOLDFAST_TEST_DIGEST_OF"

func TestMain(m *testing.M) {
	if of := os.Getenv(digestOf); of != "" {
		name, seed, _ := strings.Cut(of, " ")
		n, err := strconv.ParseUint(seed, 10, 64)
		if err != nil {
			panic(err)
		}
		fmt.Println(digest(name, n))
		return
	}
	debug.SetGCPercent(800) // a run frees most of its memory; the command sets 1000
	goleak.VerifyTestMain(m)
}

// rounds is the number of seeds in a test; the second number is for -short.
func rounds(all, short uint64) uint64 {
	if testing.Short() {
		return short
	}
	return all
}

// manySeeds skips, with -short, a test that needs many seeds.
func manySeeds(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it needs many seeds; run without -short")
	}
}

// config configures a run with all faults.
func config(name string) Config {
	p, known := Find(name)
	if !known {
		panic("no protocol " + name)
	}
	return Config{Protocol: p, Faults: Within}
}

// digest runs a seed, and hashes its trace and its result.
func digest(name string, seed uint64) string {
	sum := sha256.New()
	result, err := Run(config(name), seed, sum)
	return fmt.Sprint(hex.EncodeToString(sum.Sum(nil)), result.Outcome, result.Steps, result.Violation, err)
}

// TestSameSeedSameRun checks that the same seed gives the same run, byte for byte, in this and another process.
func TestSameSeedSameRun(t *testing.T) {
	t.Parallel()
	for _, p := range Protocols() {
		for seed := uint64(1); seed <= rounds(2, 1); seed++ {
			first := digest(p.Name, seed)
			if again := digest(p.Name, seed); again != first {
				t.Errorf("%s seed %d: %s, then %s", p.Name, seed, first, again)
			}
			other := exec.Command(os.Args[0])
			other.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", digestOf, p.Name, seed))
			out, err := other.Output()
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSpace(string(out)); got != first {
				t.Errorf("%s seed %d: %s here, %s in another process", p.Name, seed, first, got)
			}
		}
	}
}

// TestWatchingChangesNothing checks that a run is the same with and without a trace and coverage.
func TestWatchingChangesNothing(t *testing.T) {
	for seed := uint64(1); seed <= 3; seed++ {
		c := config("central")
		plain, err := Run(c, seed, nil)
		if err != nil {
			t.Fatal(err)
		}
		c.Coverage = true
		watched, err := Run(c, seed, &bytes.Buffer{})
		if err != nil {
			t.Fatal(err)
		}
		if plain.Steps != watched.Steps || plain.Outcome != watched.Outcome {
			t.Errorf("seed %d: %v after %d steps, watched %v after %d", seed, plain.Outcome, plain.Steps, watched.Outcome, watched.Steps)
		}
	}
}

// TestJobsChangeNothing checks that the report does not depend on the number of jobs.
func TestJobsChangeNothing(t *testing.T) {
	var texts [2]string
	for i, jobs := range []int{1, 4} {
		var seeds []uint64
		s, err := RunMany(config("election"), 5, 8, jobs, func(r *Result) { seeds = append(seeds, r.Seed) })
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = fmt.Sprint(s, s.Seeds, s.Steps, seeds)
	}
	if texts[0] != texts[1] {
		t.Errorf("one at a time:\n%s\nfour:\n%s", texts[0], texts[1])
	}
}

// TestSeeds checks that a few seeds of every protocol find nothing.
func TestSeeds(t *testing.T) {
	t.Parallel()
	for _, p := range Protocols() {
		t.Run(p.Name, func(t *testing.T) {
			seeds := int(rounds(20, 5))
			s, err := RunMany(config(p.Name), 1, seeds, 2, nil)
			if err != nil {
				t.Fatal(err)
			}
			if w := s.Worst; w != nil {
				t.Fatalf("seed %d: %v %v\n%s", w.Seed, w.Outcome, w.Violation, w.Settings)
			}
			if s.Seeds != seeds || s.Steps == 0 || p.Locks && s.Grants() == 0 {
				t.Errorf("%d seeds, %d steps, %d grants", s.Seeds, s.Steps, s.Grants())
			}
		})
	}
}

// TestSeedsThatOnceFailed runs the seeds that once failed, with the reasons. The run of a seed changes with the draws,
// so the reason is for readers; keeping the seed costs nothing.
func TestSeedsThatOnceFailed(t *testing.T) {
	t.Parallel()
	manySeeds(t)
	file, err := os.Open("testdata/seeds.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		if len(fields) < 4 {
			t.Fatalf("%q: want a protocol, a seed, faults and the reason", lines.Text())
		}
		seed, err := strconv.ParseUint(fields[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		c := config(fields[0])
		if c.Faults, err = ParseFaults(fields[2]); err != nil {
			t.Fatal(err)
		}
		result, err := Run(c, seed, nil)
		if err != nil {
			t.Fatal(err)
		}
		if result.Outcome != OK {
			t.Errorf("%s: %v %v\n%s", lines.Text(), result.Outcome, result.Violation, result.Settings)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// TestLongDelaysAreInEveryRun checks that every run has delays of up to 5 D, beyond every timeout.
func TestLongDelaysAreInEveryRun(t *testing.T) {
	for seed := uint64(1); seed <= 10; seed++ {
		result, err := Run(config("election"), seed, nil)
		if err != nil {
			t.Fatal(err)
		}
		if result.counts.longest < 5*3*time.Second {
			t.Errorf("seed %d: the longest delay is %v", seed, result.counts.longest)
		}
	}
}

func TestConfigNamesWhatIsWrong(t *testing.T) {
	good := config("central")
	for field, change := range map[string]func(*Config){
		"Protocol": func(c *Config) { c.Protocol = Protocol{} },
		"Members":  func(c *Config) { c.Members = 26 },
		"Duration": func(c *Config) { c.Duration = time.Millisecond },
		"Bias":     func(c *Config) { c.Bias.Late = 10_001 },
		"Core":     func(c *Config) { c.Core = CoreNever + 1 },
	} {
		c := good
		change(&c)
		if _, err := Run(c, 1, nil); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("a wrong %s: %v", field, err)
		}
	}
}
