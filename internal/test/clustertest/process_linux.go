package clustertest

import (
	"fmt"
	"os"
	"strings"
)

// Stopped reports whether the system shows the process as stopped. The state follows the name, which is in parentheses
// and may itself contain some.
func (p *Process) Stopped() (bool, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid()))
	if err != nil {
		return false, fmt.Errorf("look at %s: %w", p.who, err)
	}
	_, state, found := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
	if !found {
		return false, fmt.Errorf("look at %s: /proc says %q", p.who, text)
	}
	return strings.HasPrefix(state, "T"), nil
}
