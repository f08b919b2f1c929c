package draw

import (
	"fmt"
	"io"
	"time"

	"github.com/holdfast-locks/holdfast/sim/timeline"
)

// Events is the default maximum number of events in a picture.
const Events = 200

// Picture describes a picture.
type Picture struct {
	// Title is the text above it, for example the protocol and the seed.
	Title string
	// Repeat is the command that repeats the run; empty shows none.
	Repeat string
	// From and To bound the window, in time since the beginning of the run. If both are zero, it is the part that ends
	// with the broken promise or, if all were kept, the beginning of the run; if only To is zero, it extends to the
	// end.
	From, To time.Duration
	// Events is the maximum number of events shown: messages that are neither routine nor repeated, grants, faults and
	// views. Zero means 200; 10 to 2,000 are allowed.
	Events int
}

// Check returns an error with the wrong value and the allowed ones, or nil.
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

// Write writes the picture of a timeline as an SVG document. The same timeline and the same picture give the same
// bytes. It returns an error for a wrong Picture, a wrong timeline (timeline.Check), or a failed write.
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
