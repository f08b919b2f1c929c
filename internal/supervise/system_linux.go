package supervise

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// The requests that read and, once output has drained, set a terminal's modes.
const (
	getModes = unix.TCGETS
	setModes = unix.TCSETSW
)

// continued asks wait4 to tell of commands that were continued, too.
const continued = unix.WCONTINUED

// openGroup returns the group led by a process that is known to exist.
func openGroup(id int) group {
	descriptor, err := unix.PidfdOpen(id, 0)
	if err != nil {
		return group{id: id} // an older kernel: the number must do
	}
	return group{id, os.NewFile(uintptr(descriptor), "pidfd")}
}

// signal sends sig to every process of the group; ESRCH says that there is none.
func (g group) signal(sig syscall.Signal) error {
	if g.handle != nil {
		err := unix.PidfdSendSignal(int(g.handle.Fd()), sig, nil, unix.PIDFD_SIGNAL_PROCESS_GROUP)
		// Before Linux 6.9 the flag, before 5.1 the call is unknown: the number must do.
		if !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOSYS) {
			return err
		}
	}
	return syscall.Kill(-g.id, sig)
}

// membersOf lists the processes of a group that have not ended. It does not know
// when /proc cannot be read.
func membersOf(id int) (members []member, known bool) {
	folder, err := os.Open("/proc")
	if err != nil {
		return nil, false
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	if err != nil {
		return nil, false
	}
	for _, name := range names {
		number, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it has ended meanwhile
		}
		known = true
		if belongs(stat, id) {
			members = append(members, describe(number, stat))
		}
	}
	return members, known
}

// describe reads the name and the state off a stat line, and whose process it is.
func describe(id int, stat []byte) member {
	m := member{id: id, user: os.Geteuid()}
	begin, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	m.name = string(stat[begin+1 : end])
	m.deaf = bytes.HasPrefix(stat[end+1:], []byte(" D"))
	var info unix.Stat_t
	if unix.Stat("/proc/"+strconv.Itoa(id), &info) == nil {
		m.user = int(info.Uid)
	}
	return m
}

// belongs reads proc(5)'s stat line: whether the process is of the group and has
// not ended. A process whose first thread has ended shows as a zombie while its
// other threads run, so those are counted too.
func belongs(stat []byte, id int) bool {
	const state, pgrp, threads = 0, 2, 17 // counted behind the command's name
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= threads || string(fields[pgrp]) != strconv.Itoa(id) {
		return false
	}
	switch string(fields[state]) {
	case "Z", "X":
		count, err := strconv.Atoi(string(fields[threads]))
		return err == nil && count > 1
	}
	return true
}

// dieWithParent asks the kernel to kill this process, and what it executes, when
// the thread that started it ends. It reports false if that has happened already.
// The calling goroutine must be locked to the thread that will execute.
func dieWithParent(parent int) bool {
	if unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0) != nil {
		return true // not offered here; the guardian is there
	}
	return os.Getppid() == parent
}

// OwnProgram returns what to execute for this very program, even after its file was
// replaced or removed, where the system can tell.
func OwnProgram() (string, error) {
	if _, err := os.Stat("/proc/self/exe"); err == nil {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// rename shows name for this process in lists of processes, so that a signal to
// every holdfast by name does not find the guardian.
func rename(name string) {
	_ = os.WriteFile("/proc/self/comm", []byte(name), 0) // a matter of looks alone
}
