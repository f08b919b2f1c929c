package draw

import (
	"fmt"
	"io"
	"time"

	"github.com/holdfast-locks/holdfast/sim/timeline"
)

// Events is how many events a picture shows at most where no caller says how many.
const Events = 200

// Picture says what a picture is of.
type Picture struct {
	// Title stands above it: the protocol and the seed, say.
	Title string
	// Repeat is the command that makes the run again. Empty means that none is shown.
	Repeat string
	// From and To bound the window, in time since the beginning of the run. Both zero mean
	// the part that ends with the broken promise or, where all were kept, that begins
	// with the run; To alone zero means to the end.
	From, To time.Duration
	// Events bounds what is shown: messages that are neither routine nor repeated, grants,
	// faults and views. Zero means 200; 10 to 2,000 are allowed.
	Events int
}

// Check returns what is not allowed, and what is; nil if all of it is.
func (p *Picture) Check() error {
	switch {
	case p.From < 0:
		return fmt.Errorf("draw: From is %v; 0 and more is allowed", p.From)
	case p.To < 0 || p.To != 0 && p.To <= p.From:
		return fmt.Errorf("draw: To is %v; more than From (%v) is allowed, and 0 for the end", p.To, p.From)
	case p.Events != 0 && (p.Events < 10 || p.Events > 2000):
		return fmt.Errorf("draw: Events is %d; 10 to 2000 is allowed, and 0 for %d", p.Events, Events)
	}
	return nil
}

// Write writes the picture of a timeline as an SVG document. The same timeline and the same
// picture give the same bytes. The error says what of the picture is not allowed, what is
// no timeline (timeline.Check), or why nothing could be written.
func (p Picture) Write(out io.Writer, events []timeline.Event) error {
	if err := p.Check(); err != nil {
		return err
	}
	if err := timeline.Check(events); err != nil {
		return fmt.Errorf("draw: this is no timeline: %w", err)
	}
	l := newLayout(choose(read(events), &p), &p)
	l.place()
	if _, err := io.WriteString(out, l.render()); err != nil {
		return fmt.Errorf("write the picture: %w", err)
	}
	return nil
}
