//go:build unix && !linux

package clustertest

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// Stopped reports whether the system shows the process as stopped.
func (p *Process) Stopped() (bool, error) {
	text, err := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(p.pid())).Output()
	if err != nil {
		return false, fmt.Errorf("look at %s: ps: %w", p.who, err)
	}
	return strings.HasPrefix(strings.TrimSpace(string(text)), "T"), nil
}
