package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-locks/holdfast/internal/test/parallel"
)

// registerName is the command that TestFolderOfMany runs under its locks: register.
const registerName = "fenced-register"

// register holds the file of its first argument, and writes its token there. Another process that holds it at the same
// time, and a token that is not above the one in the file, are failures. It prints "holds TOKEN", and ends when its
// standard input does.
func register() {
	failed := func(what string, err error) {
		fmt.Println("failed:", what, err)
		os.Exit(3)
	}
	file, err := os.OpenFile(os.Args[1], os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) // the kernel ends it with this process
	}
	if err != nil {
		failed("another process holds "+os.Args[1], err)
	}
	text, err := io.ReadAll(file)
	if err != nil {
		failed("read", err)
	}
	before, _ := strconv.ParseUint(string(text), 10, 64) // an empty file is 0
	token, err := strconv.ParseUint(os.Getenv("HOLDFAST_LOCK_TOKEN"), 10, 64)
	if err != nil || token <= before {
		failed(fmt.Sprintf("token %d after %d", token, before), err)
	}
	if _, err := file.WriteAt([]byte(strconv.FormatUint(token, 10)), 0); err != nil {
		failed("write", err)
	}
	fmt.Println("holds", token)
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		failed("wait for the end of standard input", err)
	}
}

// TestFolderOfMany: 50 processes have five names of one folder in turns, and some of them are killed while they hold,
// by the wrapper alone. No two hold one name at the same time, tokens rise, and every process
// that is not killed has its turn long before a lease would have ended.
func TestFolderOfMany(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	const processes, names, kills = 50, 5, 15
	program, folder := build(t), t.TempDir()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	victims := map[int]bool{}
	for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(processes)[:kills] {
		victims[i] = true
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	killed, done := 0, 0
	began := time.Now()
	for i := range processes {
		file := filepath.Join(folder, fmt.Sprintf("register%d", i%names))
		r := startLock(t, program, nil, "--store", filepath.Join(folder, "locks"), "--wait", "1m", fmt.Sprintf("name%d", i%names), "--", registerName, file)
		all.Go(func() {
			code, err := r.turn(victims[i])
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && victims[i] && code == 128+int(syscall.SIGKILL):
				killed++
			case err == nil && !victims[i] && code == 0:
				done++
			default:
				t.Errorf("process %d: %v, exit code %d; %s", i, err, code, r.stderr.String())
			}
		})
	}
	all.Wait()
	if killed != kills || done != processes-kills {
		t.Errorf("%d were killed while they held, and %d had their turn; want %d and %d", killed, done, kills, processes-kills)
	}
	if took := time.Since(began); took > 25*time.Second {
		t.Errorf("it took %v; one lease is 30s, and none is waited for", took)
	}
}

// turn waits until the command holds, and kills the wrapper or lets the command end.
func (r *lockRun) turn(kill bool) (code int, err error) {
	line, err := r.out.ReadString('\n')
	if err == nil && !strings.HasPrefix(line, "holds ") {
		err = errors.New(line)
	}
	if err == nil && kill {
		err = r.Process.Kill()
	}
	err = errors.Join(err, r.in.Close())
	if !kill {
		_, rest := bufio.NewReader(r.out).WriteTo(io.Discard)
		err = errors.Join(err, rest)
	}
	_ = r.Wait() // its exit code says how
	return statusOf(r.ProcessState), err
}
