package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/urfave/cli/v3"
	"golang.org/x/sys/unix"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
)

// lineWriter writes lines to a file, on its own goroutine: a slow reader must not delay the end of the command. A nil
// one writes nothing.
type lineWriter struct {
	file    *os.File
	lines   chan []byte
	done    chan error  // gets the first error, when all is written
	dropped atomic.Bool // lines were dropped

	mu     sync.Mutex
	closed bool
	drawn  int // width of the terminal's line that will be replaced
}

// closeLimit is how long close waits until all is written.
const closeLimit = time.Second

// newLineWriter returns one with room for the lines about that many names while no process reads: there are four lines
// about each, and few others. Further lines are dropped, and close reports it.
func newLineWriter(file *os.File, names int) *lineWriter {
	s := &lineWriter{file: file, lines: make(chan []byte, 4*names+256), done: make(chan error, 1)}
	go func() {
		var first error
		for line := range s.lines {
			if first == nil {
				_, first = s.file.Write(line)
			}
		}
		s.done <- first
	}()
	return s
}

// printf writes one sentence for people.
func (s *lineWriter) printf(format string, arguments ...any) {
	s.write([]byte(name + ": " + fmt.Sprintf(format, arguments...) + "\n"))
}

// Control sequences of a terminal.
const (
	lineUp    = "\x1b[A"
	eraseDown = "\x1b[J" // to the end of the screen
)

// replace replaces the current line of a terminal; "" removes it. The line must fit the terminal.
func (s *lineWriter) replace(sentence string) {
	s.enqueue([]byte(sentence), ansi.StringWidth(sentence))
}

func (s *lineWriter) write(line []byte) {
	if s != nil {
		s.enqueue(line, 0)
	}
}

// enqueue queues a line. One with a width is replaced by the next. A terminal that has become narrower shows the
// replaced one as several rows.
func (s *lineWriter) enqueue(line []byte, width int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(line) == 0 && s.drawn == 0 {
		return
	}
	if s.drawn > 0 {
		rows := (s.drawn - 1) / columns(s.file)
		line = append([]byte(strings.Repeat(lineUp, rows)+"\r"+eraseDown), line...)
	}
	s.drawn = width
	select {
	case s.lines <- line:
	default:
		s.dropped.Store(true)
	}
}

var errUnread = errors.New("its reader has gone")

// close waits until all is written. Later lines, written while this process exits without having ended its command, are
// dropped.
func (s *lineWriter) close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	s.closed = true
	close(s.lines)
	s.mu.Unlock()
	limit := time.NewTimer(closeLimit)
	defer limit.Stop()
	select {
	case err := <-s.done:
		if err == nil && s.dropped.Load() {
			err = errUnread
		}
		return err
	case <-limit.C:
		return errUnread
	}
}

// openStatus returns the writer for the descriptor of --status-fd; nil without the flag. The command does not inherit
// the descriptor.
func openStatus(c *cli.Command, names int) (*lineWriter, error) {
	text := c.String("status-fd")
	if text == "" {
		return nil, nil
	}
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, usageError(c.Name, "flag --status-fd: %q: want the number of a file descriptor", text)
	}
	descriptor := int(number)
	// Descriptors opened by this process are close-on-exec; inherited ones are not.
	flags, err := unix.FcntlInt(uintptr(descriptor), unix.F_GETFD, 0)
	if err != nil || descriptor > 2 && flags&unix.FD_CLOEXEC != 0 {
		return nil, usageError(c.Name, "flag --status-fd: descriptor %d is not open", descriptor)
	}
	access, err := unix.FcntlInt(uintptr(descriptor), unix.F_GETFL, 0)
	if err != nil || access&unix.O_ACCMODE == unix.O_RDONLY {
		return nil, usageError(c.Name, "flag --status-fd: descriptor %d cannot be written to", descriptor)
	}
	unix.CloseOnExec(descriptor)
	return newLineWriter(os.NewFile(uintptr(descriptor), "status"), names), nil
}

// status reports events to programs, a JSON object a line.
type status struct {
	to    *lineWriter
	space string
}

// occurrence is one such line. Fields that do not apply are omitted.
type occurrence struct {
	Event    string         `json:"event"`
	Time     api.Time       `json:"time"`
	Space    string         `json:"space"`
	Name     string         `json:"name,omitempty"`
	Token    holdfast.Token `json:"token,omitzero"`
	Holder   string         `json:"holder,omitempty"`   // waiting: the holder's owner or client
	Since    api.Time       `json:"since,omitzero"`     // since when
	Reason   string         `json:"reason,omitempty"`   // the holder's
	Position *int           `json:"position,omitempty"` // number of waiters ahead of it
	Why      string         `json:"why,omitempty"`      // waiting: why nothing is granted, if nothing is held
	Code     *int           `json:"code,omitempty"`

	grant uint64 // waiting: the holder's token
}

// equal reports whether two lines about a wait are the same.
func (o occurrence) equal(other occurrence) bool {
	return o.Name == other.Name && o.Holder == other.Holder && o.grant == other.grant && o.Reason == other.Reason && o.Why == other.Why &&
		(o.Position == nil) == (other.Position == nil) && (o.Position == nil || *o.Position == *other.Position)
}

func (s status) write(o occurrence) {
	o.Time, o.Space = api.At(time.Now()), s.space
	line, err := json.Marshal(o)
	if err != nil {
		panic(fmt.Sprintf("encode an event: %v", err)) // it has nothing that could not be encoded
	}
	s.to.write(append(line, '\n'))
}

func (s status) acquired(l *holdfast.Lock) {
	s.write(occurrence{Event: "acquired", Name: l.Name(), Token: l.Token()})
}

// late reports that the member does not answer. It comes before the first lost, or not at all, and never after exit:
// see onLate.
func (s status) late(why string) { s.write(occurrence{Event: "late", Why: why}) }

func (s status) lost(l *holdfast.Lock, why holdfast.Loss) {
	s.write(occurrence{Event: "lost", Name: l.Name(), Token: l.Token(), Why: string(why)})
}

// wanted reports that another request waits for the lock.
func (s status) wanted(l *holdfast.Lock) {
	s.write(occurrence{Event: "wanted", Name: l.Name(), Token: l.Token()})
}

// killing reports that the command is being ended.
func (s status) killing(why holdfast.Loss) { s.write(occurrence{Event: "killing", Why: string(why)}) }

func (s status) released(l *holdfast.Lock) {
	s.write(occurrence{Event: "released", Name: l.Name(), Token: l.Token()})
}

// exit is the last line.
func (s status) exit(code int) { s.write(occurrence{Event: "exit", Code: &code}) }
