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

// Config says how to replay.
type Config struct {
	// Protocols are those that the recorded member can have run. Zero means all that
	// members run and that can be simulated.
	Protocols []protocol.Descriptor
	// Output, if not nil, gets the steps from From to To of each life, as they stand in the
	// trace. All steps are replayed, whether or not they are shown.
	Output   io.Writer
	From, To uint64 // zero means the first, and the last
}

// Result is what became of a replay.
type Result struct {
	Lives []Life
	// Difference is the first one; nil where there is none.
	Difference *Difference
}

// Life is one life of the member, as far as it was replayed.
type Life struct {
	Header *trace.Header
	Steps  int
	Last   protocol.Time // of the last step
	// Ending says why the trace of this life ended.
	Ending string
	// Panic is the invariant that was broken, in the trace and again; "" where none was.
	Panic string
}

// Steps returns how many steps were replayed.
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

// Run replays a trace. The error says where the trace is not one, or why its
// machines cannot be made; a difference is no error.
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

// life is one life while it is replayed.
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

// build makes the machines as they were made, and compares who they take themselves for.
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

// print shows a step, if it is among those that the caller wants to see.
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

// step feeds one event, and compares what comes of it.
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

// did is the text of what the machines did, line by line as the trace has it.
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

// entropy gives the machines what they drew when they were recorded.
type entropy struct {
	numbers []uint64
	secrets []session.Secret
	proofs  [][32]byte
	over    bool // more was drawn than is there
}

// Uint64 is the next number.
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

// next takes the first of what is left; where nothing is, more was wanted than is recorded.
func next[T any](c *entropy, left *[]T) (first T) {
	if len(*left) == 0 {
		c.over = true
		return first
	}
	first, *left = (*left)[0], (*left)[1:]
	return first
}

// wrong says how what was drawn differs, or "".
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

// Span returns how long a life was, for people.
func (l *Life) Span() time.Duration { return l.Last.Round(time.Millisecond) }
