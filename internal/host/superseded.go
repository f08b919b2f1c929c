package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/internal/disk/cell"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
)

// supersededName is the file in a state folder that records that a later life of its member has run elsewhere.
const supersededName = "superseded"

// mostSuperseded bounds the stored part of the other member's sentence, in bytes.
const mostSuperseded = 1 << 10

// superseded makes this member unfit: a later life of it has run elsewhere, and may have made promises unknown to this
// one. The folder is marked, so that the next start does not take a further incarnation, under which the others would
// admit it, without the later life's promises, and shut the later life out.
func (n *Member) superseded(err error) {
	if n.config.State != "" {
		said := strings.ToValidUTF8(err.Error(), "?")
		text := fmt.Sprintf("%s: %.*s\n", time.Now().UTC().Format(time.RFC3339), mostSuperseded, said)
		if marked := cell.Replace(n.config.State, supersededName, []byte(text)); marked != nil {
			n.logger.Error("cannot mark the state folder as superseded: do not start a member with it again", "folder", n.config.State, "error", marked)
		}
		err = fmt.Errorf("%w. Stop that process. %s", err, n.anew())
	}
	n.logger.Error("this member cannot take part", "error", err)
	n.change(func() { n.unfit = err })
	n.alone.Store(true) // the others do not have it
}

// anew says what to do with a superseded folder.
func (n *Member) anew() string {
	return fmt.Sprintf("State folder %s does not know what it has promised to the others: start afresh, with an empty folder and an empty data folder", n.config.State)
}

// checkSuperseded refuses a folder marked as superseded, whether or not the later life still runs: that life's
// promises, and what it has written to its logs, count as long as the cluster exists.
func (n *Member) checkSuperseded(remembered membership.Cell) error {
	if n.config.State == "" {
		return nil
	}
	mark := filepath.Join(n.config.State, supersededName)
	switch text, err := os.ReadFile(mark); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("read whether the state folder is superseded: %w", err)
	default:
		return fmt.Errorf("%s, and was superseded at %s. %s", n.whose(remembered), strings.TrimSpace(string(text)), n.anew())
	}
}
