package replica

import (
	"errors"
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// request identifies a request permanently.
type request struct {
	session lock.SessionID
	number  uint64
}

// outcome is the end of a request.
type outcome struct {
	request
	kind  lock.Kind
	class uint8 // the class of a refusal
	token holdfast.Token
	loss  holdfast.Loss
}

// The classes of refusals, by the errors that they wrap. Any other refusal is class 0.
var classes = [...]error{
	nil, holdfast.ErrHeld, holdfast.ErrUnavailable, holdfast.ErrLimit, holdfast.ErrConflict, holdfast.ErrUnsupported, holdfast.ErrName,
	holdfast.ErrDeadlock,
}

func classOf(err error) uint8 {
	for i, class := range classes {
		if class != nil && errors.Is(err, class) {
			return uint8(i)
		}
	}
	return 0
}

// outcomes is the ends of the latest requests: the oldest is replaced.
type outcomes struct {
	most  int
	at    map[request]int // in list
	list  []outcome       // a ring when it is full
	first int             // the oldest
}

func newOutcomes(most int) outcomes { return outcomes{most: most, at: map[request]int{}} }

func (s *outcomes) add(d *lock.Decision) {
	s.push(outcome{request{d.Session, d.Request}, d.Kind, classOf(d.Err), d.Token, d.Loss})
}

func (s *outcomes) push(o outcome) {
	if len(s.list) < s.most {
		s.at[o.request] = len(s.list)
		s.list = append(s.list, o)
		return
	}
	if oldest := s.list[s.first].request; s.at[oldest] == s.first {
		delete(s.at, oldest)
	}
	s.list[s.first] = o
	s.at[o.request] = s.first
	s.first = (s.first + 1) % s.most
}

// inOrder visits all outcomes, the oldest first.
func (s *outcomes) inOrder(visit func(*outcome)) {
	for i := range s.list {
		visit(&s.list[(s.first+i)%len(s.list)])
	}
}

// again returns the answer to the repetition of an ended request.
func (s *outcomes) again(o *Op) lock.Decision {
	if at, known := s.at[request{o.Session, o.Request}]; known {
		return s.list[at].repeated(o)
	}
	return refusal(o, fmt.Errorf("%w: request %d of session %v has ended, too long ago to say how; give each request a number of its own", holdfast.ErrConflict, o.Request, o.Session))
}

// repeated returns the answer to a request whose intent has this outcome.
func (o *outcome) repeated(by *Op) lock.Decision {
	d, was := refusal(by, nil), o.decision()
	d.Kind, d.Token, d.Loss, d.Err = was.Kind, was.Token, was.Loss, was.Err
	return d
}

// decision returns the known part of the decision that ended the request.
func (o *outcome) decision() lock.Decision {
	d := lock.Decision{Kind: o.kind, Session: o.session, Request: o.number, Token: o.token, Loss: o.loss}
	if o.kind == lock.Refused {
		d.Err = holdfast.ErrConflict
		if class := classes[o.class]; class != nil {
			d.Err = class
		}
	}
	return d
}
