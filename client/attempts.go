package client

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/client/session"
)

// UnreachableError is an [holdfast.ErrUnavailable] of a call that no member has served. It
// lists the addresses that were asked, and no others, each with its own reason.
type UnreachableError struct {
	Attempts []Attempt // in the order in which they were asked first

	cause error // why no other address is asked, if a context says so
}

// Attempt is one address that was asked.
type Attempt struct {
	Address string
	Err     error // why it does not serve: the network's word, or a member's

	place   api.Address
	heard   bool // Err is a member's word
	refused bool // nothing listens there
}

// Error lists the addresses with their reasons.
func (e *UnreachableError) Error() string {
	text := "unavailable: no member reachable at "
	if e.Answered() {
		text = "unavailable: no member serves at "
	}
	for i, a := range e.Attempts {
		if i > 0 {
			text += "; "
		}
		text += a.Address + ": " + strings.TrimPrefix(a.Err.Error(), holdfast.ErrUnavailable.Error()+": ")
	}
	return text
}

// Unwrap makes it an ErrUnavailable, an ErrLimit where a member was overloaded, and the error of the context that
// has ended the call.
func (e *UnreachableError) Unwrap() []error {
	all := []error{holdfast.ErrUnavailable}
	for _, a := range e.Attempts {
		if session.IsOverload(a.Err) {
			all = append(all, a.Err)
			break
		}
	}
	if e.cause != nil {
		all = append(all, e.cause)
	}
	return all
}

// Refused reports whether nothing listens at any of the addresses: every one of them has
// refused the connection, or does not exist.
func (e *UnreachableError) Refused() bool {
	return len(e.Attempts) > 0 && !slices.ContainsFunc(e.Attempts, func(a Attempt) bool { return !a.refused })
}

// Answered reports whether a member has answered at one of the addresses, if only that it
// does not serve.
func (e *UnreachableError) Answered() bool {
	return slices.ContainsFunc(e.Attempts, func(a Attempt) bool { return a.heard })
}

// attemptLog records the addresses that were asked, for an UnreachableError.
type attemptLog struct {
	attempts []Attempt
	heard    bool // a member has answered once
}

// begin notes that an address is asked. Its earlier error stands until it answers again.
func (q *attemptLog) begin(place api.Address) {
	if q.find(place) == nil {
		q.attempts = append(q.attempts, Attempt{Address: place.String(), Err: session.ErrSilent, place: place})
	}
}

// end notes why an address does not serve.
func (q *attemptLog) end(place api.Address, err error, refused bool) {
	q.begin(place)
	a := q.find(place)
	var opErr *holdfast.Error
	if errors.As(err, &opErr) { // the list says already which operation it is about
		err = opErr.Err
	}
	a.Err, a.heard, a.refused = err, session.IsHeard(err), refused
	q.heard = q.heard || a.heard
}

func (q *attemptLog) find(place api.Address) *Attempt {
	i := slices.IndexFunc(q.attempts, func(a Attempt) bool { return a.place == place })
	if i < 0 {
		return nil
	}
	return &q.attempts[i]
}

// unreachable makes the error of an operation.
func (q *attemptLog) unreachable(op string, cause error) error {
	return &holdfast.Error{Op: op, Err: q.error(cause)}
}

func (q *attemptLog) error(cause error) error {
	return &UnreachableError{Attempts: slices.Clone(q.attempts), cause: cause}
}

// unreached says that gRPC, and not a member, found that no member answers: no connection,
// or one to a program that is no member.
func unreached(err error) bool {
	s := status.Convert(err)
	return len(s.Details()) == 0 && (s.Code() == codes.Unavailable || strings.Contains(s.Message(), "unexpected HTTP status code"))
}

// reasonOf says why an address does not serve, by what gRPC says about a call there.
func reasonOf(op string, err error) error {
	if unreached(err) {
		return session.Unheard{Err: errors.New(dialSentence(status.Convert(err).Message()))}
	}
	var opErr *holdfast.Error
	if err = api.FromStatus(op, err); errors.As(err, &opErr) {
		err = opErr.Err
	}
	return err
}

// door is where connections to one place are made. It remembers how the network has
// answered the latest, which gRPC tells as a sentence alone.
type door struct {
	place api.Address

	mu  sync.Mutex
	err error
}

// open makes a connection.
func (d *door) open(ctx context.Context, _ string) (net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, d.place.Network, d.place.Place)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
	return conn, err
}

// refuses reports whether nothing listened at the place when a connection was made last.
func (d *door) refuses() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	var name *net.DNSError
	return errors.Is(d.err, syscall.ECONNREFUSED) || errors.Is(d.err, fs.ErrNotExist) || errors.As(d.err, &name) && name.IsNotFound
}
