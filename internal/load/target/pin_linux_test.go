package target

import (
	"context"
	"errors"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdfast-locks/holdfast/internal/load"
)

// hosted is a target whose server is a program that is not ours; another process of it has
// ended.
type hosted struct {
	load.Target
	processes []int
	err       error
}

func (h hosted) Processes() ([]int, error) { return h.processes, h.err }

// TestShareHosted: a server that is not ours is on the one CPU too, and afterwards on all;
// where its processes cannot be listed everything is as before.
func TestShareHosted(t *testing.T) {
	b := harness(t)
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	server := exec.Command("cat")
	leash, err := server.StdinPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(leash.Close(), server.Wait()); err != nil {
			t.Error(err)
		}
	}()
	may := func(process int) (set cpus) {
		t.Helper()
		if err := unix.SchedGetaffinity(process, &set); err != nil {
			t.Fatal(err)
		}
		return set
	}
	restore, err := b.Share(limitedContext(t), hosted{processes: []int{server.Process.Pid, ended.Process.Pid}})
	if err != nil {
		t.Fatal(err)
	}
	if one := lastOf(b.mine); may(server.Process.Pid) != one || may(0) != one {
		t.Errorf("the server may use %v, this process %v; want %v", may(server.Process.Pid), may(0), one)
	}
	if err := restore(); err != nil {
		t.Error(err)
	}
	if may(server.Process.Pid) != b.mine {
		t.Errorf("the server may use %v afterwards; want %v", may(server.Process.Pid), b.mine)
	}
	if _, err := b.Share(limitedContext(t), hosted{err: context.Canceled}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if may(b.echo.cmd.Process.Pid) != b.mine {
		t.Error("the echo server is left on one CPU")
	}
}
