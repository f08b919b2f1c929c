package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/holdfast-locks/holdfast/internal/disk/cell"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
)

// dataName is the default name of the data folder in the state folder of `serve`.
const dataName = "data"

// Files in the state folder of a member that has founded its cluster alone.
const (
	aloneName = "founded-alone"
	aloneText = "This member has founded its cluster alone, and must not start as one of several founders.\n"
)

// checkFounded refuses to be one of several founders with the folder of a member that has founded a cluster alone: it
// is a majority of that cluster by itself, and would grant without asking the others. The first life records that it is
// alone, because several founders may also have ended up with a view of one member.
func (n *Member) checkFounded(remembered membership.Cell) error {
	if n.config.State == "" || n.config.guest() {
		return nil
	}
	if !n.config.clustered() {
		if remembered.Incarnation > 0 {
			return nil
		}
		if err := cell.Replace(n.config.State, aloneName, []byte(aloneText)); err != nil {
			return fmt.Errorf("record that this member founds its cluster alone: %w", err)
		}
		return nil
	}
	mark := filepath.Join(n.config.State, aloneName)
	switch alone, err := exists(mark); {
	case err != nil || !alone:
		return err
	case remembered.Incarnation == 0: // left by a start that failed before there was a life
		if err := errors.Join(os.Remove(mark), cell.SyncFolder(n.config.State)); err != nil {
			return fmt.Errorf("begin as one of several founders: %w", err)
		}
		return nil
	}
	return fmt.Errorf("%s, which it has founded alone, and it is to be one of %d founders: it would go on as that cluster, and grant without the others. "+
		"Start it without --join and --expect as before, and the others with --join as its guests; "+
		"or start afresh: stop every member of that cluster, and remove %s or give another folder with --state DIR",
		n.whose(remembered), len(n.config.founders()), n.config.State)
}

// checkFormer refuses a state folder in which an earlier life of this member kept its spaces differently: locks that
// its clients may still hold are in memory, or on the disk, where this life would not look for them.
func (n *Member) checkFormer(remembered membership.Cell) error {
	if n.config.State == "" || remembered.Incarnation == 0 {
		return nil // a member that has never run has promised nothing
	}
	if n.config.Data == "" {
		return n.checkFormerData(remembered)
	}
	if !n.config.keeps() {
		return nil
	}
	recorded, err := readSpaces(n.config.Data)
	if err != nil || len(recorded) > 0 {
		return err
	}
	if there, err := exists(filepath.Join(n.config.Data, logsName)); there || err != nil {
		return err // openData reports what is missing next to the logs
	}
	for _, at := range []string{n.config.State, filepath.Join(n.config.State, dataName)} {
		switch there, err := readSpaces(at); {
		case err != nil:
			return err
		case len(there) > 0 && at != n.config.Data:
			return fmt.Errorf("%s, which keeps its spaces in data folder %s, and %s is empty; give it that one with --data %s",
				n.whose(remembered), at, n.config.Data, at)
		}
	}
	if kept, err := exists(filepath.Join(n.config.State, keepsName)); kept || err != nil {
		return err // openData reports that the logs are gone
	}
	return fmt.Errorf("%s, which kept its spaces in memory: data folder %s has nothing of it. "+
		"Its clients may still hold locks, so go on in memory with --memory; "+
		"or start afresh: stop every member of that cluster, and remove %s or give another folder with --state DIR",
		n.whose(remembered), n.config.Data, n.config.State)
}

// checkFormerData refuses a folder with a stored space that this life would have in memory.
func (n *Member) checkFormerData(remembered membership.Cell) error {
	for _, at := range []string{n.config.State, filepath.Join(n.config.State, dataName)} {
		recorded, err := readSpaces(at)
		if err != nil {
			return err
		}
		for i := range n.config.Spaces {
			s := &n.config.Spaces[i]
			if was, known := recorded[s.Name]; known && was != shapeOf(s) {
				return fmt.Errorf("%s, which keeps space %q on the disk with %v, in data folder %s, and is to have %v now. "+
					"Start it without --memory as before, or start afresh: stop every member of that cluster, and remove %s or give another folder with --state DIR",
					n.whose(remembered), s.Name, was, at, shapeOf(s), n.config.State)
			}
		}
	}
	return nil
}

// warnClock warns if tokens of a member without a past may not be above those of a forgotten life: they begin at the
// wall clock's second, which counts from membership.Origin.
func (n *Member) warnClock() {
	if origin := time.Unix(membership.Origin, 0).UTC(); n.started.Before(origin) {
		n.logger.Warn("the clock is before 2026 and no state is kept, so tokens may repeat; set the clock",
			"clock", n.started.UTC().Format(time.RFC3339), "before", origin.Format(time.RFC3339))
	}
}

// keeps reports whether a space is stored on the disk.
func (c *Config) keeps() bool {
	for i := range c.Spaces {
		if c.Spaces[i].described.Logs {
			return true
		}
	}
	return false
}

// whose describes the owner of the state folder, as far as that is recorded.
func (n *Member) whose(remembered membership.Cell) string {
	name, with := strconv.Quote(n.config.Name), ""
	if v := remembered.Accepted; v != nil {
		for _, m := range v.Members {
			switch {
			case m.ID == remembered.ID:
				name = strconv.Quote(m.Name)
			default:
				with += " " + strconv.Quote(m.Name)
			}
		}
	}
	if with != "" {
		with = " with" + with
	}
	return fmt.Sprintf("state folder %s is that of member %s of cluster %s%s", n.config.State, name, strconv.FormatUint(remembered.Cluster, 36), with)
}
