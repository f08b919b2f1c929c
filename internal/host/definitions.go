package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast/internal/disk/cell"
)

// A guest stores its cluster's definitions in its state folder. If no member answers at a later start, it begins with
// them at once, and keeps asking: the members' own replace them when one answers.

// adopted is a guest's definitions from its cluster.
type adopted struct {
	terms      []string
	remembered bool // no member has confirmed them in this life
}

// poller asks the members in the background. Its zero value is idle.
type poller struct {
	stop context.CancelFunc
	work sync.WaitGroup
}

// definitionsName is the file of the state folder.
const definitionsName = "definitions"

// The file is text: a first line with its format, a line for each term that all members agree on, and a checksum.
const (
	definitionsPrefix = "holdfast definitions "
	definitionsMagic  = definitionsPrefix + "1"
)

// definitionsFile returns the path of a guest's stored definitions; "" if it stores none.
func (c *Config) definitionsFile() string {
	folder := cmp.Or(c.State, c.Data)
	if folder == "" {
		return ""
	}
	return filepath.Join(folder, definitionsName)
}

func encodeDefinitions(terms []string) []byte {
	text := definitionsMagic + "\n"
	for _, line := range terms {
		text += strconv.Quote(line) + "\n"
	}
	sum := crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli))
	return fmt.Appendf(nil, "%s%08x\n", text, sum)
}

// readDefinitions reads the definitions of an earlier life; nil if there are none.
func readDefinitions(path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the definitions that this guest remembers: %w", err)
	}
	terms, err := decodeDefinitions(string(text))
	if err != nil {
		return nil, fmt.Errorf("the space definitions in file %s: %w", path, err)
	}
	return terms, nil
}

// decodeDefinitions parses the output of encodeDefinitions, and nothing else.
func decodeDefinitions(text string) (terms []string, err error) {
	first, _, _ := strings.Cut(text, "\n")
	if strings.HasPrefix(first, definitionsPrefix) && first != definitionsMagic {
		return nil, fmt.Errorf("it is %.50q, and this version reads %q; use the version that wrote it, or remove the file", first, definitionsMagic)
	}
	for line := range strings.Lines(text) {
		if term, err := strconv.Unquote(strings.TrimSuffix(line, "\n")); err == nil {
			terms = append(terms, term)
		}
	}
	if len(terms) == 0 || string(encodeDefinitions(terms)) != text {
		return nil, errors.New("the file is damaged; remove it")
	}
	return terms, nil
}

// recall uses the definitions of an earlier life, because no member has answered, for the reason why. It reports
// whether there were any.
func (c *Config) recall(why error) (bool, error) {
	terms, err := readDefinitions(c.definitionsFile())
	if err != nil || terms == nil {
		return false, err
	}
	taken := *c
	if err := taken.adopt(terms); err != nil {
		return false, fmt.Errorf("%w; this guest remembers that in file %s", err, c.definitionsFile())
	}
	*c = taken
	c.adopted = &adopted{terms: terms, remembered: true}
	if c.Logger != nil {
		c.Logger.Warn("no member has reported the cluster's spaces; this guest goes on with the saved ones, and asks again",
			"file", c.definitionsFile(), "error", why)
	}
	return true, nil
}

// keepDefinitions stores the members' definitions. The state folder belongs to this member.
func (n *Member) keepDefinitions(terms []string) error {
	path := n.config.definitionsFile()
	if n.folder == nil {
		return nil // nothing is stored
	}
	if text, err := os.ReadFile(path); err == nil && string(text) == string(encodeDefinitions(terms)) {
		return nil
	}
	if err := cell.Replace(n.config.State, definitionsName, encodeDefinitions(terms)); err != nil {
		return fmt.Errorf("record the spaces of the cluster: %w", err)
	}
	return nil
}

// confirmDefinitions asks the members for their definitions until one answers, if this guest began with remembered
// ones.
func (n *Member) confirmDefinitions() error {
	if n.config.adopted == nil {
		return nil
	}
	if !n.config.adopted.remembered {
		return n.keepDefinitions(n.config.adopted.terms)
	}
	ask, err := n.config.termsSource()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	n.recalled.Store(true)
	n.poller.stop = stop
	n.poller.work.Go(func() {
		for {
			if terms, err := askAll(ctx, ask, n.config.Join); err == nil {
				n.confirmed(terms)
				return
			}
			again := time.NewTimer(pollInterval)
			select {
			case <-again.C:
				continue
			case <-ctx.Done():
			}
			again.Stop()
			n.mu.Lock()
			refused := n.unfit != nil
			n.mu.Unlock()
			// The member that has refused this one can be asked. At the next start there may be no member again.
			if !refused {
				return
			}
			if terms, err := askAll(context.Background(), ask, n.config.Join); err == nil {
				n.confirmed(terms)
			}
			return
		}
	})
	return nil
}

// confirmed compares a member's answer with the definitions that this guest began with. If they differ, the guest is
// unfit.
func (n *Member) confirmed(terms []string) {
	if slices.Equal(terms, n.config.adopted.terms) {
		n.recalled.Store(false)
		n.logger.Info("the cluster has the space definitions that this guest started with")
		return
	}
	if err := n.keepDefinitions(terms); err != nil {
		n.logger.Error("cannot save the cluster's space definitions", "error", err)
	}
	theirs, ours := firstOther(terms, n.config.adopted.terms)
	n.change(func() {
		if n.unfit == nil {
			n.unfit = n.outdated(fmt.Errorf("all members must agree: it is %q in the cluster and %q here", theirs, ours))
		}
	})
	n.alone.Store(true)
}

// outdated adds to the reason why this member is unfit that its definitions may be old.
func (n *Member) outdated(err error) error {
	if !n.recalled.Load() {
		return err
	}
	return fmt.Errorf("%w. No member answered at the start of this guest, so it began with the definitions that it remembered: if the cluster has others now, start it again, and it takes them", err)
}

// firstOther returns the first lines in which two lists differ; "" for a missing one.
func firstOther(a, b []string) (of, than string) {
	for i := range max(len(a), len(b)) {
		of, than = "", ""
		if i < len(a) {
			of = a[i]
		}
		if i < len(b) {
			than = b[i]
		}
		if of != than {
			break
		}
	}
	return of, than
}

// stopPolling stops confirmDefinitions.
func (n *Member) stopPolling() {
	if n.poller.stop != nil {
		n.poller.stop()
	}
	n.poller.work.Wait()
}
