package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v3"
	"golang.org/x/sys/unix"

	"github.com/holdfast-locks/holdfast/internal/supervise"
)

// inheritable is one more than the highest descriptor that the keeper is kept from inheriting.
const inheritable = 1024

// mostAnswer bounds a keeper's start report, in bytes.
const mostAnswer = 4096

// spawnKeeper starts a keeper, and returns its start report. The secret goes to its standard input, which stays open until
// it has reported, or ctx ends. A timeout of 0 means no limit.
func (p *program) spawnKeeper(ctx context.Context, arguments []string, w *witness, secret string, timeout time.Duration) (string, error) {
	for descriptor := 3; descriptor < inheritable; descriptor++ {
		// Descriptors that the caller has left open here (`3>&1`) must not stay open in the keeper. Closed ones are
		// unaffected.
		unix.CloseOnExec(descriptor)
	}
	ready, said, err := os.Pipe()
	if err != nil {
		return "", fmt.Errorf("open a pipe: %w", err)
	}
	defer ready.Close()
	program, err := supervise.OwnProgram()
	if err != nil {
		return "", errors.Join(fmt.Errorf("find this program's own file: %w", err), said.Close())
	}
	keeper := exec.Command(program, arguments...)
	keeper.Args[0] = p.args[0]
	keeper.Env = p.keeperEnvironment()
	keeper.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	keeper.ExtraFiles = append([]*os.File{said}, w.files()...)
	stdin, err := keeper.StdinPipe()
	if err == nil {
		err = keeper.Start()
	}
	if err = errors.Join(err, said.Close()); err != nil {
		return "", err
	}
	// If it has already ended, the end of the pipe shows it.
	_, _ = io.WriteString(stdin, secret+"\n")
	stop := context.AfterFunc(ctx, func() { _ = stdin.Close() })
	defer stop()
	defer stdin.Close()
	if timeout > 0 {
		if err := ready.SetReadDeadline(time.Now().Add(timeout)); err != nil {
			return "", errors.Join(err, keeper.Process.Kill())
		}
	}
	answer, err := io.ReadAll(io.LimitReader(ready, mostAnswer))
	if err != nil {
		return "", errors.Join(fmt.Errorf("wait until it has taken over: %w", err), keeper.Process.Kill())
	}
	return string(answer), keeper.Process.Release()
}

// whilePID is the keeper's argument with the process for whose lifetime it keeps.
const whilePID = "--while-pid="

// keeperArguments returns a keeper's arguments.
func keeperArguments(c *cli.Command, w *witness, session string) ([]string, error) {
	arguments, err := memberArguments(c)
	return append([]string{"keeper", whilePID + strconv.Itoa(w.pid), keeps + publicID(session)}, arguments...), err
}

// memberArguments returns the arguments for reaching the member, from any folder.
func memberArguments(c *cli.Command) (arguments []string, err error) {
	for _, flag := range []string{"server", "timeout", "tls-ca", "tls-cert", "tls-key", "tls-server-name", "token-file", "insecure-files"} {
		if !c.IsSet(flag) {
			continue
		}
		value := fmt.Sprint(c.Value(flag))
		if slices.Contains([]string{"tls-ca", "tls-cert", "tls-key", "token-file"}, flag) && value != "" {
			if value, err = filepath.Abs(value); err != nil {
				return nil, fmt.Errorf("find the folder of --%s %q: %w", flag, c.Value(flag), err)
			}
		}
		arguments = append(arguments, fmt.Sprintf("--%s=%s", flag, value))
	}
	return arguments, nil
}

// keeperEnvironment has none of our own variables but the client's token: the arguments have the values of the others.
// Unlike arguments, only the same user and the superuser can list it.
func (p *program) keeperEnvironment() []string {
	return slices.DeleteFunc(slices.Clone(p.environ), func(variable string) bool {
		secret, is := strings.CutPrefix(variable, tokenVariable+"=")
		return strings.HasPrefix(variable, "HOLDFAST_") && !(is && isBearer(strings.TrimSpace(secret)))
	})
}
