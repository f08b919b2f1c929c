package history

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// Request is a user's request.
type Request struct {
	Who   string // for people
	Owner string // the owner that may enter its holds, unique among owners; "" for none
	holdfast.Shape
	Try bool // the user does not wait
}

// Outcome is the outcome of a request to its user's knowledge.
type Outcome uint8

// The outcomes.
const (
	Open    Outcome = iota // unknown, or irrelevant
	Granted                // the user was granted the name, and believed it
	Refused                // another user held it
)

var outcomeNames = [...]string{"open", "granted", "refused"}

func (o Outcome) String() string { return outcomeNames[o] }

// stamp is a place in the order of observations. No two have the same, so that the resolution of a clock does not
// matter.
type stamp int64

// forever is after every stamp.
const forever = stamp(1) << 62

// Acquisition is one request and its user's observations.
type Acquisition struct {
	Request
	Outcome Outcome
	Token   holdfast.Token // of Granted
	Why     string         // why the grant ended, for people

	// Times of the observations, for people. Zero means that the event has not happened.
	Requested, Granted, Ended, Taken time.Duration

	requested, granted, ended, taken stamp
	believed                         stamp // when its user last believed that it holds
	number                           int
	owner                            int32
}

// Log has the observations of one name, in order.
type Log struct {
	Name string

	all    []*Acquisition
	clock  stamp
	owners map[string]int32
}

// NewLog returns an empty log of a name.
func NewLog(name string) *Log { return &Log{Name: name, owners: map[string]int32{}} }

// Len returns the number of acquisitions in the log.
func (l *Log) Len() int { return len(l.all) }

// tick returns the next stamp. Between two of them is room for an observation right after the first.
func (l *Log) tick() stamp {
	l.clock += 2
	return l.clock
}

// Request adds a request when it is sent for the first time. The other methods record its outcome; until then it is
// open.
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

// Grant records that the grant reached its user, which believes that it holds from now on. Call See first for every
// other user that still believes at this instant.
func (l *Log) Grant(a *Acquisition, at time.Duration, token holdfast.Token) {
	a.Outcome, a.Token, a.Granted = Granted, token, at
	a.granted = l.tick()
	a.believed = a.granted
}

// Refuse records that the user was refused because the name is held. It only matters for users that do not wait.
func (l *Log) Refuse(a *Acquisition, at time.Duration) {
	a.Outcome, a.Granted, a.granted = Refused, at, l.tick()
}

// See records that the user still believes that it holds, after the latest observation.
func (l *Log) See(a *Acquisition) { a.believed = l.clock }

// End records that the user no longer believes that it holds. The belief ended some time after the last See.
func (l *Log) End(a *Acquisition, at time.Duration, why string) {
	if a.Outcome == Granted && a.ended == forever {
		a.ended, a.Ended, a.Why = a.believed+1, at, why
		l.tick()
	}
}

// Take records that the authority has taken back a lock that the user has unlocked, or no longer waits for.
func (l *Log) Take(a *Acquisition, at time.Duration) {
	if (a.ended != forever || a.Outcome == Open) && a.taken == forever {
		a.taken, a.Taken = l.tick(), at
	}
}

// String returns a line for every acquisition, in the order of the requests.
func (l *Log) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "history of %q\n", l.Name)
	for _, a := range l.all {
		text.WriteString("  " + a.String() + "\n")
	}
	return text.String()
}

// String is a line about the acquisition, for people.
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
