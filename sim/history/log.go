package history

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// Request is what a user asks for.
type Request struct {
	Who   string // for people
	Owner string // the owner that may enter what it holds, with all that tells it from others; "" for none
	holdfast.Shape
	Try bool // he does not want to wait
}

// Outcome is what a user knows of what he has asked for.
type Outcome uint8

// The outcomes.
const (
	Open    Outcome = iota // it is not known, or does not matter any more
	Granted                // he was granted the name, and took himself for a holder
	Refused                // another user held it
)

var outcomeNames = [...]string{"open", "granted", "refused"}

func (o Outcome) String() string { return outcomeNames[o] }

// stamp is a place in the order in which things were seen. Two things never have one, so
// that nothing depends on how fine a clock is.
type stamp int64

// forever comes after everything.
const forever = stamp(1) << 62

// Acquisition is one request and what its user saw of it.
type Acquisition struct {
	Request
	Outcome Outcome
	Token   holdfast.Token // of Granted
	Why     string         // why it has ended, for people

	// When things were seen, for people. What they are zero for has not happened.
	Requested, Granted, Ended, Taken time.Duration

	requested, granted, ended, taken stamp
	believed                         stamp // when its user last took himself for a holder
	number                           int
	owner                            int32
}

// Log is what users saw of one name, in the order in which they saw it.
type Log struct {
	Name string

	all    []*Acquisition
	clock  stamp
	owners map[string]int32
}

// NewLog returns a log of a name without any acquisition.
func NewLog(name string) *Log { return &Log{Name: name, owners: map[string]int32{}} }

// Len returns how many acquisitions the log has.
func (l *Log) Len() int { return len(l.all) }

// tick returns the place of what is seen now. Between two of them is room for what was
// seen right after the first.
func (l *Log) tick() stamp {
	l.clock += 2
	return l.clock
}

// Request enters a request when it is sent for the first time. The other methods enter what becomes of it;
// until then it is open.
func (l *Log) Request(at time.Duration, request Request) *Acquisition {
	a := &Acquisition{Request: request, Requested: at, requested: l.tick(), granted: forever, ended: forever, taken: forever, number: len(l.all)}
	a.owner = -1 - int32(a.number)
	if request.Owner != "" {
		if l.owners[request.Owner] == 0 {
			l.owners[request.Owner] = int32(len(l.owners) + 1)
		}
		a.owner = l.owners[request.Owner]
	}
	l.all = append(l.all, a)
	return a
}

// Grant takes note that the grant reached its user, who takes himself for a holder from now on.
// Every other user that does so in this instant must have been seen before.
func (l *Log) Grant(a *Acquisition, at time.Duration, token holdfast.Token) {
	a.Outcome, a.Token, a.Granted = Granted, token, at
	a.granted = l.tick()
	a.believed = a.granted
}

// Refuse takes note that the user was refused because the name is held. It is significant
// only for users who did not want to wait.
func (l *Log) Refuse(a *Acquisition, at time.Duration) {
	a.Outcome, a.Granted, a.granted = Refused, at, l.tick()
}

// See takes note that the user still takes himself for a holder, after what was seen last.
func (l *Log) See(a *Acquisition) { a.believed = l.clock }

// End takes note that the user takes himself for a holder no more. When that has ended is
// only known to be after he was seen last.
func (l *Log) End(a *Acquisition, at time.Duration, why string) {
	if a.Outcome == Granted && a.ended == forever {
		a.ended, a.Ended, a.Why = a.believed+1, at, why
		l.tick()
	}
}

// Take takes note that the authority has taken back what the user has unlocked, or what
// he has given up waiting for.
func (l *Log) Take(a *Acquisition, at time.Duration) {
	if (a.ended != forever || a.Outcome == Open) && a.taken == forever {
		a.taken, a.Taken = l.tick(), at
	}
}

// String writes a line for every acquisition, in the order in which they were asked for.
func (l *Log) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "history of %q\n", l.Name)
	for _, a := range l.all {
		text.WriteString("  " + a.String() + "\n")
	}
	return text.String()
}

// String is one line for people.
func (a *Acquisition) String() string {
	text := fmt.Sprintf("#%d %s %v", a.number, a.Who, a.Mode)
	if a.Mode == holdfast.ModeSlots {
		text += fmt.Sprintf(" %d/%d", a.Units, a.Capacity)
	}
	if a.Owner != "" {
		text += " as " + a.Owner
	}
	if a.Try {
		text += " at once"
	}
	text += fmt.Sprintf(", asked %v", a.Requested)
	if a.Outcome == Open {
		if text += ", open"; a.taken != forever {
			text += fmt.Sprintf(", given up for good %v", a.Taken)
		}
		return text
	}
	text += fmt.Sprintf(", %v %v", a.Outcome, a.Granted)
	if a.Outcome == Refused {
		return text
	}
	text += fmt.Sprintf(" under token %d", a.Token)
	if a.ended != forever {
		text += fmt.Sprintf(", ended %v (%s)", a.Ended, a.Why)
	}
	if a.taken != forever {
		text += fmt.Sprintf(", taken back %v", a.Taken)
	}
	return text
}
