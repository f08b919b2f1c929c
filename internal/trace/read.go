package trace

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/trace/text"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Bounds of the input.
const (
	maxLine = 64 << 20 // bytes
	maxStep = 1 << 30  // bytes of the lines of one step
)

// Error is a fault in a line of a trace.
type Error struct {
	Line int
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the fault of the line.
func (e *Error) Unwrap() error { return e.Err }

// Step is one step of a life.
type Step struct {
	Number  uint64
	Line    int // of the file
	At      protocol.Time
	Event   protocol.Event
	Text    string // the event's line
	Drawn   []uint64
	Secrets []session.Secret
	Proofs  [][32]byte // hashes of secrets computed in it
	Effects []string   // lines of the effects, without Drawn, Secrets and Proofs
	// Ended reports whether the last line is present, which is among Effects: otherwise the trace ends within the step.
	Ended bool
	// Panic is the text of a broken invariant; "" if there was none.
	Panic string
}

// Reader reads a trace: Life, then Step until it returns io.EOF, then the next Life.
type Reader struct {
	codec  *text.Codec
	lines  *bufio.Reader
	line   int
	held   *string // a line that was read, but not used yet
	begun  bool
	broken bool // the file ends within a line
	why    string
}

// NewReader returns a reader for a trace written with codec's types.
func NewReader(r io.Reader, codec *text.Codec) *Reader {
	return &Reader{codec: codec, lines: bufio.NewReaderSize(r, 64<<10)}
}

// next returns the next complete line, or io.EOF. A line without an end does not count: the process was killed, or had
// no more room.
func (r *Reader) next() (string, error) {
	if r.held != nil {
		line := *r.held
		r.held = nil
		return line, nil
	}
	r.line++
	var long []byte
	for {
		part, err := r.lines.ReadSlice('\n')
		switch {
		case err == nil && long == nil:
			return string(part[:len(part)-1]), nil
		case err == nil:
			return string(append(long, part[:len(part)-1]...)), nil
		case errors.Is(err, io.EOF):
			r.broken = len(part)+len(long) > 0
			return "", io.EOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", fmt.Errorf("read the trace: %w", err)
		case len(long)+len(part) > maxLine:
			return "", r.fail("it is longer than %d bytes", maxLine)
		}
		long = append(long, part...)
	}
}

func (r *Reader) fail(format string, arguments ...any) error {
	return &Error{r.line, fmt.Errorf(format, arguments...)}
}

// Life skips to the next life and returns its header; io.EOF if there is none.
func (r *Reader) Life() (*Header, error) {
	for {
		line, err := r.next()
		switch {
		case err != nil && r.begun:
			return nil, err
		case err != nil:
			return nil, r.fail("it is no trace: want %q", magic)
		case line == magic:
			r.begun, r.why = true, ""
			return r.header()
		case strings.HasPrefix(line, prefix):
			return nil, r.fail("it is a trace of version %q; this program reads %q", strings.TrimPrefix(line, prefix), strings.TrimPrefix(magic, prefix))
		case !r.begun:
			return nil, r.fail("it is no trace: want %q", magic)
		}
	}
}

// header reads a life's header, up to the empty line.
func (r *Reader) header() (*Header, error) {
	h := &Header{}
	for {
		line, err := r.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, r.fail("the trace ends before its first step")
		case err != nil:
			return nil, err
		case line == "":
			return h, nil
		}
		if err := h.parse(line, r.codec); err != nil {
			return nil, &Error{r.line, err}
		}
	}
}

// Ending returns why the life's trace ended, after Step has returned io.EOF.
func (r *Reader) Ending() string {
	if r.why != "" {
		return r.why
	}
	return "the process was killed, or the trace was cut"
}

// Step returns the next step of the life; io.EOF after the last.
func (r *Reader) Step() (*Step, error) {
	line, err := r.next()
	switch {
	case err != nil:
		return nil, err
	case strings.HasPrefix(line, prefix):
		r.held = &line
		return nil, io.EOF
	case strings.HasPrefix(line, "end "):
		why, err := strconv.Unquote(strings.TrimPrefix(line, "end "))
		if wrong := r.fail("want why the trace ends, in quotes, and there is %q", line); (err != nil || why == "") && !r.cut() {
			return nil, wrong
		}
		r.why = why
		return nil, io.EOF
	}
	step := &Step{Line: r.line, Text: line}
	if err := r.event(step); err != nil {
		if r.cut() {
			return nil, io.EOF
		}
		return nil, &Error{step.Line, err}
	}
	return step, r.effects(step)
}

// cut reports whether a life ends after this line: then, if it cannot be parsed, a killed process left it unfinished.
func (r *Reader) cut() bool {
	line, err := r.next()
	if err != nil {
		return errors.Is(err, io.EOF)
	}
	r.held = &line
	return strings.HasPrefix(line, prefix)
}

// effects reads the lines below a step's own.
func (r *Reader) effects(step *Step) error {
	size := 0
	for !step.Ended {
		line, err := r.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		effect, below := strings.CutPrefix(line, "  ")
		if !below {
			r.held = &line
			return nil // it ends within: the process was killed, and has another life
		}
		if size += len(line); size > maxStep {
			return r.fail("step %d is longer than %d bytes", step.Number, maxStep)
		}
		if err := r.effect(step, effect); err != nil {
			wrong := &Error{r.line, err}
			if r.cut() {
				return nil
			}
			return wrong
		}
	}
	return nil
}

// effect parses one line below a step's own.
func (r *Reader) effect(step *Step, text string) error {
	keyword, rest, _ := strings.Cut(text, " ")
	switch keyword {
	case "drew":
		n, err := strconv.ParseUint(rest, 10, 64)
		if err != nil {
			return fmt.Errorf("drew %q: want a number", rest)
		}
		step.Drawn = append(step.Drawn, n)
		return nil
	case "secret":
		secret, err := r.codec.Parse("session.Secret(" + rest + ")")
		if err != nil {
			return fmt.Errorf("secret: %w", err)
		}
		step.Secrets = append(step.Secrets, secret.(session.Secret))
		return nil
	case "proved":
		proof, err := readProof(rest)
		if err != nil {
			return err
		}
		step.Proofs = append(step.Proofs, proof)
		return nil
	case "wake":
		step.Ended = true
	case "panic":
		what, err := strconv.Unquote(rest)
		if err != nil {
			return fmt.Errorf("panic %q: want a text in quotes", rest)
		}
		step.Ended, step.Panic = true, what
	case "send", "reply", "raise", "note":
	default:
		return fmt.Errorf("%q is no effect of a machine", keyword)
	}
	step.Effects = append(step.Effects, text)
	return nil
}

// readProof parses the hash of a secret.
func readProof(text string) (proof [32]byte, err error) {
	digits, quoted := strings.CutPrefix(text, `x"`)
	digits, closed := strings.CutSuffix(digits, `"`)
	bytes, err := hex.DecodeString(digits)
	if !quoted || !closed || err != nil || len(bytes) != len(proof) {
		return proof, fmt.Errorf("proved %.80q: want 64 hexadecimal digits, as in x\"0f…\"", text)
	}
	return [32]byte(bytes), nil
}

// event parses a step's line.
func (r *Reader) event(step *Step) (err error) {
	number, rest, _ := strings.Cut(step.Text, " ")
	at, rest, _ := strings.Cut(rest, " ")
	kind, rest, _ := strings.Cut(rest, " ")
	if step.Number, err = strconv.ParseUint(number, 10, 64); err != nil {
		return fmt.Errorf("want the number of a step, got %q", number)
	}
	if step.At, err = text.ParseDuration(at); err != nil || step.At < 0 {
		return fmt.Errorf("step %d: %q is no time", step.Number, at)
	}
	ev := &step.Event
	switch kind {
	case "start":
		ev.Kind = protocol.Start
	case "tick":
		ev.Kind = protocol.Tick
	case "receive":
		ev.Kind = protocol.Receive
		from, fact, _ := strings.Cut(rest, " ")
		id, err := strconv.ParseUint(from, 10, 64)
		if err != nil {
			return fmt.Errorf("step %d: %q is no member's id", step.Number, from)
		}
		ev.From = protocol.ID(id)
		return r.fact(step, fact)
	case "call":
		ev.Kind = protocol.Call
		to, fact, _ := strings.Cut(rest, " ")
		if ev.Call, err = parseCall(to); err != nil {
			return fmt.Errorf("step %d: %w", step.Number, err)
		}
		return r.fact(step, fact)
	default:
		return fmt.Errorf("step %d: %q is no event", step.Number, kind)
	}
	if rest != "" {
		return fmt.Errorf("step %d: %q stands behind %s", step.Number, rest, kind)
	}
	return nil
}

// fact parses a port and its value.
func (r *Reader) fact(step *Step, text string) error {
	port, fact, _ := strings.Cut(strings.TrimPrefix(text, "at "), " ")
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || !strings.HasPrefix(text, "at ") {
		return fmt.Errorf("step %d: want a port, as in at 1, and there is %.24q", step.Number, text)
	}
	step.Event.Port = protocol.Port(n)
	if step.Event.Fact, err = r.codec.Parse(fact); err != nil {
		return fmt.Errorf("step %d: %w", step.Number, err)
	}
	return nil
}

func parseCall(text string) (id protocol.CallID, err error) {
	sink, op, _ := strings.Cut(text, ".")
	if id.Sink, err = strconv.ParseUint(sink, 10, 64); err == nil {
		id.Op, err = strconv.ParseUint(op, 10, 64)
	}
	if err != nil {
		err = fmt.Errorf("%q names no call: want SINK.OPERATION", text)
	}
	return id, err
}
