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

// UnreachableError is an [holdfast.ErrUnavailable] of a call that no member has served. It lists exactly the addresses
// that were tried, each with its own reason.
type UnreachableError struct {
	Attempts []Attempt // in the order in which they were first tried

	cause error // the context's reason why no further address is tried, if any
}

// Attempt is one address that was tried.
type Attempt struct {
	Address string
	Err     error // why it does not serve, as reported by the network or a member

	place   api.Address
	heard   bool // Err came from a member
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

// Unwrap returns an ErrUnavailable, an ErrLimit if a member was overloaded, and the error of the context that ended the
// call.
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

// Refused reports whether nothing listens at any of the addresses: each has refused the connection, or does not exist.
func (e *UnreachableError) Refused() bool {
	return len(e.Attempts) > 0 && !slices.ContainsFunc(e.Attempts, func(a Attempt) bool { return !a.refused })
}

// Answered reports whether a member has answered at one of the addresses, even if only to refuse.
func (e *UnreachableError) Answered() bool {
	return slices.ContainsFunc(e.Attempts, func(a Attempt) bool { return a.heard })
}

// attemptLog records the tried addresses, for an UnreachableError.
type attemptLog struct {
	attempts []Attempt
	heard    bool // a member has answered at least once
}

// begin notes the start of an attempt. The address keeps its earlier error until it answers again.
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
	if errors.As(err, &opErr) { // the list already says which operation it is about
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

// unreachable returns the error of an operation.
func (q *attemptLog) unreachable(op string, cause error) error {
	return &holdfast.Error{Op: op, Err: q.error(cause)}
}

func (q *attemptLog) error(cause error) error {
	return &UnreachableError{Attempts: slices.Clone(q.attempts), cause: cause}
}

// unreached reports whether gRPC, rather than a member, found that no member answers: there is no connection, or the
// program at the address is not a member.
func unreached(err error) bool {
	s := status.Convert(err)
	return len(s.Details()) == 0 && (s.Code() == codes.Unavailable || strings.Contains(s.Message(), "unexpected HTTP status code"))
}

// reasonOf returns why an address does not serve, from gRPC's error of a call there.
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

// door makes the connections to one place. It keeps the network's latest error, which gRPC passes on only as text.
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

// refuses reports whether nothing listened at the place at the latest attempt to connect.
func (d *door) refuses() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	var name *net.DNSError
	return errors.Is(d.err, syscall.ECONNREFUSED) || errors.Is(d.err, fs.ErrNotExist) || errors.As(d.err, &name) && name.IsNotFound
}
