package replay

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/trace"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/sim"
)

// Config describes a replay.
type Config struct {
	// Protocols are those that the recorded member may have run. Zero means all protocols that members run and that can
	// be simulated.
	Protocols []protocol.Descriptor
	// Output, if not nil, gets the steps from From to To of each life, as in the trace. All steps are replayed, shown
	// or not.
	Output   io.Writer
	From, To uint64 // zero means the first, and the last
}

// Result is the result of a replay.
type Result struct {
	Lives []Life
	// Difference is the first difference, or nil.
	Difference *Difference
}

// Life is one life of the member, as far as it was replayed.
type Life struct {
	Header *trace.Header
	Steps  int
	Last   protocol.Time // of the last step
	// Ending is why the trace of this life ended.
	Ending string
	// Panic is the invariant that was broken, in the trace and again; "" if none was.
	Panic string
}

// Steps returns the number of replayed steps.
func (r *Result) Steps() (steps int) {
	for _, life := range r.Lives {
		steps += life.Steps
	}
	return steps
}

// Panic returns the invariant that was broken again, or "".
func (r *Result) Panic() string {
	for _, life := range r.Lives {
		if life.Panic != "" {
			return life.Panic
		}
	}
	return ""
}

// Run replays a trace. It returns an error if the trace is malformed, or its machines cannot be made; a difference is
// not an error.
func Run(from io.Reader, c Config) (*Result, error) {
	if c.Protocols == nil {
		c.Protocols = sim.Nodes(sim.Protocols()...)
	}
	codec, err := trace.NewCodec(c.Protocols)
	if err != nil {
		return nil, err
	}
	reader, result := trace.NewReader(from, codec), &Result{}
	for {
		header, err := reader.Life()
		switch {
		case errors.Is(err, io.EOF):
			return result, nil
		case err != nil:
			return result, err
		}
		l := life{config: &c, reader: reader, writer: trace.Writer{Codec: codec}}
		l.Header = header
		difference, err := l.replay()
		result.Lives = append(result.Lives, l.Life)
		if difference != nil {
			difference.Life = len(result.Lives)
			result.Difference = difference
		}
		if err != nil || difference != nil {
			return result, err
		}
	}
}

// life is the replay of one life.
type life struct {
	Life
	config  *Config
	reader  *trace.Reader
	writer  trace.Writer
	machine protocol.Machine
	entropy entropy
	out     protocol.Effects
}

// replay makes the machines and feeds them the events.
func (l *life) replay() (*Difference, error) {
	if difference, err := l.build(); difference != nil || err != nil {
		return difference, err
	}
	for {
		step, err := l.reader.Step()
		switch {
		case errors.Is(err, io.EOF):
			l.Ending = l.reader.Ending()
			return nil, nil
		case err != nil:
			return nil, err
		case step.Number != uint64(l.Steps)+1 || step.At < l.Last:
			return nil, fmt.Errorf("line %d: step %d at %v follows step %d at %v; steps follow one another, and time does not go back",
				step.Line, step.Number, step.At, l.Steps, l.Last)
		}
		if err := l.print(step); err != nil {
			return nil, err
		}
		if difference := l.step(step); difference != nil {
			return difference, nil
		}
	}
}

// build makes the machines as they were made, and compares their identities.
func (l *life) build() (*Difference, error) {
	h := l.Header
	l.entropy.numbers = h.Drawn
	built, err := member.Build(&h.Config, member.Entropy{Rand: rand.New(&l.entropy), Secret: l.entropy.secret, Proof: l.entropy.proof}, l.config.Protocols)
	if err != nil {
		return nil, fmt.Errorf("make the machines of %q: %w", h.Config.Name, err)
	}
	l.machine = built.Session
	cell := built.Member.Cell()
	got := fmt.Sprintf("member %d, incarnation %d", cell.ID, cell.Incarnation)
	if want := fmt.Sprintf("member %d, incarnation %d", h.ID, h.Incarnation); got != want {
		return &Difference{Member: h.Config.Name, Event: "the making of the machines", Want: []string{want}, Got: []string{got}}, nil
	}
	if wrong := l.entropy.wrong(); wrong != "" {
		return &Difference{Member: h.Config.Name, Event: "the making of the machines", Entropy: wrong}, nil
	}
	return nil, nil
}

// print writes a step, if the caller wants to see it.
func (l *life) print(step *trace.Step) error {
	c := l.config
	if c.Output == nil || step.Number < c.From || c.To != 0 && step.Number > c.To {
		return nil
	}
	text := step.Text + "\n"
	for _, effect := range step.Effects {
		text += "  " + effect + "\n"
	}
	if _, err := io.WriteString(c.Output, text); err != nil {
		return fmt.Errorf("show the steps: %w", err)
	}
	return nil
}

// step feeds one event, and compares the effects.
func (l *life) step(step *trace.Step) *Difference {
	l.Steps, l.Last = l.Steps+1, step.At
	l.entropy.numbers, l.entropy.secrets, l.entropy.proofs = step.Drawn, step.Secrets, step.Proofs
	l.entropy.over = false
	broken := l.feed(step)
	got := l.did(broken)
	wrong := l.entropy.wrong()
	l.out.Reset()
	switch {
	case broken != "" && (step.Panic == broken || !step.Ended):
		l.Panic = broken
		return nil
	case !step.Ended:
		return nil // the trace ends within this step
	}
	return compare(l.Header.Config.Name, step, got, wrong)
}

// feed steps the machines, and returns the invariant that they break, or "".
func (l *life) feed(step *trace.Step) (broken string) {
	defer func() {
		if why := recover(); why != nil {
			broken = fmt.Sprint(why)
		}
	}()
	l.machine.Step(step.At, step.Event, &l.out)
	return ""
}

// did is the text of the machines' effects, line by line as in the trace.
func (l *life) did(broken string) []string {
	if broken != "" {
		return linesOf(l.writer.Panic(nil, broken))
	}
	text, err := l.writer.Effects(nil, &l.out, trace.Marks{})
	if err != nil {
		return []string{err.Error()}
	}
	return linesOf(l.writer.Wake(text, l.machine.Wake()))
}

// entropy gives the machines the recorded random draws.
type entropy struct {
	numbers []uint64
	secrets []session.Secret
	proofs  [][32]byte
	over    bool // more was drawn than recorded
}

// Uint64 returns the next number.
func (c *entropy) Uint64() uint64 {
	if len(c.numbers) == 0 {
		c.over = true
		return 1
	}
	n := c.numbers[0]
	c.numbers = c.numbers[1:]
	return n
}

func (c *entropy) secret() session.Secret { return next(c, &c.secrets) }

func (c *entropy) proof(session.Secret) [32]byte { return next(c, &c.proofs) }

// next takes the first of the remaining values, or notes that none is left.
func next[T any](c *entropy, left *[]T) (first T) {
	if len(*left) == 0 {
		c.over = true
		return first
	}
	first, *left = (*left)[0], (*left)[1:]
	return first
}

// wrong describes how the draws differ, or "".
func (c *entropy) wrong() string {
	switch {
	case c.over:
		return "drew more by chance than is recorded"
	case len(c.numbers)+len(c.secrets)+len(c.proofs) > 0:
		return fmt.Sprintf("drew %d numbers and %d secrets less by chance, and took %d hashes less, than is recorded",
			len(c.numbers), len(c.secrets), len(c.proofs))
	}
	return ""
}

// Span returns the duration of a life, rounded for people.
func (l *Life) Span() time.Duration { return l.Last.Round(time.Millisecond) }
