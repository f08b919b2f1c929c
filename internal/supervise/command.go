//go:build unix

package supervise

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Command describes the command to run.
type Command struct {
	// Args are the command and its arguments. The command is looked for in PATH
	// unless it contains a slash.
	Args []string
	// Env is the command's environment; of two values of a variable the later one
	// counts. Nil means the caller's own.
	Env []string
	// Stdin, Stdout and Stderr become the command's. Nil means the caller's own. Other files that the caller inherited
	// (descriptors 3 and up) are inherited by the command; close-on-exec ones, like all that Go opens, are not.
	Stdin, Stdout, Stderr *os.File
	// Deadline is when the guardian kills the command's group, even if the caller is gone, until [Process.SetDeadline]
	// moves it. Zero means never.
	Deadline time.Duration
	// Adopt makes the caller the parent of processes that the command leaves running, on Linux: they are waited for
	// ([Process.Left]) and ended with the command, in its group or not. The caller must start no other processes
	// meanwhile.
	Adopt bool
	// Mark is NAME=WORD: the entry NAME of Env has WORD among its words, and no other command's has. With it the
	// guardian finds processes that have left the group when the caller was killed. Empty means that it cannot.
	Mark string
	// Heir is started by the guardian when it has ended all of the command in the caller's place. Nil means none.
	Heir *Heir
	// Keep are files that the guardian has open, too: until the caller, and then the guardian, have ended. A guardian
	// whose caller was killed ends when it has killed the command, and none of its processes is left that can be killed.
	Keep []*os.File
	// Notice receives sentences for the person at the terminal about what happens to the command there, and about
	// signals that could not be forwarded. It must not block, must be safe for concurrent use, and may be nil.
	Notice func(string)
}

// Exit statuses of a command that did not run.
const (
	StatusNotExecutable = 126
	StatusNotFound      = 127
)

// StartError is the reason why a command could not be run.
type StartError struct {
	Command string // as given
	Status  int    // StatusNotExecutable or StatusNotFound
	Reason  string // the rest of the sentence
	Err     error  // the system's error
}

// Error returns the sentence.
func (e *StartError) Error() string { return fmt.Sprintf("command %q: %s", e.Command, e.Reason) }

// Unwrap returns the system's error.
func (e *StartError) Unwrap() error { return e.Err }

// Find returns the path of a command, as a shell would find it. The error is a
// *StartError. [Start] does the same; calling Find first reports a mistyped
// command before the caller waits for a lock.
func Find(command string) (string, error) {
	if strings.Contains(command, "/") {
		if err := executable(command); err != nil {
			return "", notRunnable(command, command, err)
		}
		return command, nil
	}
	var denied error
	for _, folder := range searchPath() {
		if folder == "" {
			folder = "." // POSIX: an empty element is the working folder
		}
		path := folder + "/" + command
		err := executable(path)
		if err == nil {
			return path, nil
		}
		if _, missing := os.Stat(path); denied == nil && missing == nil && errors.Is(err, fs.ErrPermission) {
			denied = err
		}
	}
	if denied != nil {
		return "", notRunnable(command, command, denied)
	}
	return "", &StartError{command, StatusNotFound, "not found in PATH", fs.ErrNotExist}
}

// searchPath returns the folders of PATH.
func searchPath() []string {
	path := os.Getenv("PATH")
	if path == "" {
		return nil
	}
	return strings.Split(path, ":")
}

// executable returns why a file cannot be executed, as far as that shows without an attempt. Package os/exec does the
// same, but a program that imports it here initializes this package late: see begin.
func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return syscall.EISDIR
	}
	err = unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS)
	if !errors.Is(err, syscall.ENOSYS) && !errors.Is(err, syscall.EPERM) {
		return err
	}
	// The system cannot say, for example in a container with a filter of system calls.
	if info.Mode()&0o111 == 0 {
		return fs.ErrPermission
	}
	return nil
}

// notRunnable explains why the file at path cannot be executed, from the system's error.
func notRunnable(command, path string, err error) error {
	refused := &StartError{Command: command, Status: StatusNotExecutable, Err: err}
	_, missing := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && missing != nil:
		refused.Status, refused.Reason = StatusNotFound, "not found"
	case errors.Is(err, fs.ErrNotExist):
		refused.Reason = "not executable: its interpreter does not exist"
	case errors.Is(err, syscall.ENOEXEC):
		refused.Reason = "not executable: neither a program for this machine nor a script with a #! line"
	case errors.Is(err, syscall.EISDIR):
		refused.Reason = "not executable: it is a folder"
	case errors.Is(err, fs.ErrPermission):
		refused.Reason = "not executable: permission denied"
	default:
		var number syscall.Errno
		if errors.As(err, &number) {
			err = number
		}
		refused.Reason = fmt.Sprintf("not executable: %v", err)
	}
	return refused
}

// environment returns env with each variable once, its last value.
func environment(env []string) []string {
	if env == nil {
		env = os.Environ()
	}
	place := make(map[string]int, len(env))
	var once []string
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if at, seen := place[name]; seen {
			once[at] = entry
			continue
		}
		place[name] = len(once)
		once = append(once, entry)
	}
	return once
}
