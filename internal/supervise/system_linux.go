package supervise

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The requests that read and, once output has drained, set a terminal's modes.
const (
	getModes = unix.TCGETS
	setModes = unix.TCSETSW
)

// continued makes wait4 also report continued commands.
const continued = unix.WCONTINUED

// openGroup returns the group led by a process known to exist.
func openGroup(id int) group {
	descriptor, err := unix.PidfdOpen(id, 0)
	if err != nil {
		return group{id: id} // an older kernel: use the number
	}
	return group{id: id, handle: os.NewFile(uintptr(descriptor), "pidfd")}
}

// signal sends sig to every process of the group; ESRCH means that there is none.
func (g group) signal(sig syscall.Signal) error {
	if g.id == 0 {
		return syscall.ESRCH
	}
	if g.handle != nil {
		err := unix.PidfdSendSignal(int(g.handle.Fd()), sig, nil, unix.PIDFD_SIGNAL_PROCESS_GROUP)
		// The flag is unknown before Linux 6.9, the call before 5.1: use the number.
		if !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOSYS) {
			return err
		}
	}
	return syscall.Kill(-g.id, sig)
}

// members lists the processes of the group that have not ended, and those that the command has started elsewhere if the
// caller adopts them. Known is false if /proc cannot be read.
func (g group) members() (members []member, known bool) {
	all, known := processes()
	family := map[int]bool{}
	if g.caller != 0 {
		family[g.caller] = true
	}
	// A child may be listed before its parent.
	for grown := true; grown; {
		grown = false
		for _, m := range all {
			if family[m.parent] && !family[m.id] && !slices.Contains(g.except, m.id) {
				family[m.id], grown = true, true
			}
		}
	}
	delete(family, g.caller)
	for _, m := range all {
		if !m.ended && (g.id != 0 && m.group == g.id || family[m.id]) {
			members = append(members, m)
		}
	}
	return members, known
}

// childrenOf lists the children of a process. The kernel lists them by thread. A kernel without such lists
// (CONFIG_PROC_CHILDREN) needs a look at all processes, which takes longer the more there are.
//
// A child leaves its list when it is reaped, or when its thread ends and another one takes it over. So the lists are
// complete if no thread has ended between the first and the last look, and the caller reaps none meanwhile.
func childrenOf(parent int) (children []member) {
	folder := "/proc/" + strconv.Itoa(parent) + "/task"
	threads := numbers(folder)
	for found := true; found && len(threads) > 0; {
		children = children[:0]
		for _, thread := range threads {
			text, err := os.ReadFile(folder + "/" + strconv.Itoa(thread) + "/children")
			found = found && (err == nil || errors.Is(err, syscall.ESRCH)) // a thread that has ended is missing below
			for word := range strings.FieldsSeq(string(text)) {
				if id, err := strconv.Atoi(word); err == nil {
					children = appendMember(children, id)
				}
			}
		}
		before := threads
		threads = numbers(folder)
		if found && !slices.ContainsFunc(before, func(thread int) bool { return !slices.Contains(threads, thread) }) {
			return children
		}
	}
	all, _ := processes()
	return slices.DeleteFunc(all, func(m member) bool { return m.parent != parent })
}

// processes lists all processes that /proc shows.
func processes() (all []member, known bool) {
	for _, id := range numbers("/proc") {
		all = appendMember(all, id)
	}
	return all, len(all) > 0
}

// appendMember appends a process, unless it has ended meanwhile.
func appendMember(all []member, id int) []member {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(id) + "/stat")
	if err != nil {
		return all
	}
	if m, ok := describe(id, stat); ok {
		all = append(all, m)
	}
	return all
}

// numbers lists the processes of /proc, or the threads of a task folder.
func numbers(path string) (ids []int) {
	folder, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	if err != nil {
		return nil
	}
	for _, name := range names {
		if id, err := strconv.Atoi(name); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// describe parses proc(5)'s stat line. A process whose first thread has ended appears as a zombie while its other
// threads run, so it has not ended then.
func describe(id int, stat []byte) (m member, ok bool) {
	const state, parent, pgrp, threads = 0, 1, 2, 17 // positions after the command's name
	begin, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	fields := bytes.Fields(stat[end+1:])
	if begin < 0 || end < begin || len(fields) <= threads {
		return m, false
	}
	number := func(field int) int {
		n, _ := strconv.Atoi(string(fields[field])) // the kernel writes numbers
		return n
	}
	m = member{id: id, name: string(stat[begin+1 : end]), parent: number(parent), group: number(pgrp)}
	switch string(fields[state]) {
	case "Z", "X":
		m.ended = number(threads) <= 1
	case "D":
		m.deaf = true
	}
	var info unix.Stat_t
	if m.user = os.Geteuid(); unix.Stat("/proc/"+strconv.Itoa(id), &info) == nil {
		m.user = int(info.Uid)
	}
	return m, true
}

// adoptOrphans makes this process the parent of its descendants' orphans.
func adoptOrphans() bool { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil }

// canMark says that marked finds processes, and that the kernel kills a command of forkCommand whose caller ends.
const canMark = true

// forkCommand starts a command in its own process group, from the thread whose end the kernel answers with KILL to the
// command.
func forkCommand(path string, args, env []string, files []uintptr) (process int, err error) {
	return syscall.ForkExec(path, args, &syscall.ProcAttr{
		Env: env, Files: files, Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
}

// gainsPrivileges reports whether a program runs as another user or group, or with capabilities, than its caller. Such a
// one does not show its environment, and no end of its caller kills it.
func gainsPrivileges(path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
		return true
	}
	_, err = unix.Getxattr(path, "security.capability", nil)
	return err == nil
}

// marked lists the processes with a mark in their initial environment. Those of another user do not show theirs.
func marked(mark string) (ids []int) {
	name, word, found := strings.Cut(mark, "=")
	if !found {
		return nil
	}
	for _, id := range numbers("/proc") {
		environment, err := os.ReadFile("/proc/" + strconv.Itoa(id) + "/environ")
		if err == nil && hasMark(environment, name, word) {
			ids = append(ids, id)
		}
	}
	return ids
}

// hasMark reports whether an environment has a variable with a word among its words.
func hasMark(environment []byte, name, word string) bool {
	for entry := range bytes.SplitSeq(environment, []byte{0}) {
		variable, value, _ := strings.Cut(string(entry), "=")
		if variable == name && slices.Contains(strings.Fields(value), word) {
			return true
		}
	}
	return false
}

// dieWithParent asks the kernel to kill this process, and what it execs, when the thread that started it ends. It
// reports false if that has already happened. The calling goroutine must be locked to the thread that will exec.
func dieWithParent(parent int) bool {
	if unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0) != nil {
		return true // not supported; the guardian is there
	}
	return os.Getppid() == parent
}

// OwnProgram returns the path for executing this same program, even after its file was replaced or removed, if the
// system supports that.
func OwnProgram() (string, error) {
	if _, err := os.Stat("/proc/self/exe"); err == nil {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// rename changes this process's name in process lists, so that a signal to every holdfast by name does not reach the
// guardian.
func rename(name string) {
	_ = os.WriteFile("/proc/self/comm", []byte(name), 0) // cosmetic
}

// caller is the process that has started this one.
type caller struct {
	id     int
	handle *os.File // nil if it has ended, or if the kernel is older
}

func openCaller() caller {
	c := caller{id: os.Getppid()}
	if c.handle = openGroup(c.id).handle; c.ended() {
		c.handle = nil // it may be another's
	}
	return c
}

// ended reports whether another process is this one's parent now.
func (c caller) ended() bool { return os.Getppid() != c.id }

// kill kills the caller.
func (c caller) kill() {
	switch {
	case c.ended():
	case c.handle != nil:
		_ = unix.PidfdSendSignal(int(c.handle.Fd()), syscall.SIGKILL, nil, 0) // it may have ended just now
	default:
		_ = syscall.Kill(c.id, syscall.SIGKILL) // likewise
	}
}

// gone waits until all of the caller has ended, and reports whether that came before the limit.
func (c caller) gone(limit time.Duration) bool {
	for end := time.Now().Add(limit); time.Now().Before(end); {
		if c.handle == nil {
			if c.ended() {
				return true
			}
			time.Sleep(look)
			continue
		}
		events := []unix.PollFd{{Fd: int32(c.handle.Fd()), Events: unix.POLLIN}}
		if n, err := unix.Poll(events, int(time.Until(end).Milliseconds())+1); n == 1 && err == nil {
			return true
		}
	}
	return false
}
