package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Config configures a Service. All fields except Logger are required.
type Config struct {
	// Driver drives the member's machines: a session.Machine over a protocol.Stack.
	Driver *run.Driver
	// View returns the newest view; the zero View before the first.
	View func() protocol.View
	// Spaces are the lockspaces, the first of them at port 1 of the stack.
	Spaces []Space
	// Logger logs changes of suspensions. Nil discards.
	Logger *slog.Logger
}

// Space is a lockspace and the name of its protocol.
type Space struct{ Name, Protocol string }

// Service carries out operators' requests about whole spaces. It is safe for concurrent use. Close it before the
// driver.
type Service struct {
	driver *run.Driver
	view   func() protocol.View
	spaces []Space

	presence *presence

	life context.Context // ends with Close
	end  context.CancelFunc
}

// New returns a Service. It makes no requests yet.
func New(c Config) (*Service, error) {
	switch {
	case c.Driver == nil:
		return nil, errors.New("operator: Driver is nil; give the driver of the member's machines")
	case c.View == nil:
		return nil, errors.New("operator: View is nil; give what returns the newest view")
	case len(c.Spaces) == 0:
		return nil, errors.New("operator: Spaces is empty; a member has at least one")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	o := &Service{
		driver: c.Driver, view: c.View, spaces: c.Spaces, presence: newPresence(c),
	}
	o.life, o.end = context.WithCancel(context.Background())
	return o, nil
}

// Close releases every suspension requested here. A waiting caller gets ErrClosed, and so does a later one.
func (o *Service) Close() {
	o.end()
	o.presence.close()
}

// Transfer makes a member the authority of a space, if the space's protocol supports that, and returns the authority
// afterwards. The member is given by its name or its address. The error is an ErrUnsupported if the protocol has no
// transfer; an ErrConflict if the view has no such member, or it cannot be the authority, or another one became it
// meanwhile; an ErrUnavailable if no member decides; an ErrSpace; or the context's: then it may have happened
// nevertheless.
func (o *Service) Transfer(ctx context.Context, space, member string) (authority []string, err error) {
	port, err := o.port(space)
	if err != nil {
		return nil, err
	}
	view := o.view()
	// A protocol without transfer reports that first, regardless of the named member, and even if the view does not
	// have it. For all others an unknown member is a conflict.
	to, unknown := find(&view, member)
	transferred, err := query[*protocol.Transferred](ctx, o, port, &protocol.Transfer{To: to})
	switch {
	case err != nil:
		return nil, err
	case errors.Is(transferred.Err, holdfast.ErrUnsupported):
		return nil, o.unsupported(port, "transfer")
	case unknown != nil:
		return nil, unknown
	case transferred.Err == holdfast.ErrConflict:
		return nil, api.Fail(api.CodeConflict, fmt.Sprintf(
			"member %q cannot be the authority of space %q: it is not in the view, or has the space closed", member, o.name(port)))
	case transferred.Err == holdfast.ErrUnavailable:
		return nil, fmt.Errorf("%w: no member decides in space %q now; look at the status",
			holdfast.ErrUnavailable, o.name(port))
	case transferred.Err != nil:
		return nil, transferred.Err
	}
	view = o.view()
	for _, id := range transferred.Authority {
		authority = append(authority, view.Name(id))
	}
	return authority, nil
}

// find returns the id of the member with that name or, if none has it, that address.
func find(view *protocol.View, member string) (protocol.ID, error) {
	var names []string
	for _, one := range view.Members {
		if one.Name == member {
			return one.ID, nil
		}
		names = append(names, one.Name)
	}
	for _, one := range view.Members {
		if member != "" && one.Address == member {
			return one.ID, nil
		}
	}
	if len(names) == 0 {
		return 0, fmt.Errorf("%w: there is no view yet, so no member is known", holdfast.ErrUnavailable)
	}
	return 0, api.Fail(api.CodeConflict, fmt.Sprintf("member %q is not in view %d, whose members are %s; name one of these",
		member, view.Number, strings.Join(names, ", ")))
}

// OpenSpace starts the space's instance at this member again. If it is open, nothing changes, and a caller that waits
// for it to close gets an ErrConflict. The error is an ErrSpace, or the context's.
func (o *Service) OpenSpace(ctx context.Context, space string) error {
	return o.turn(ctx, space, &protocol.OpenSpace{}, "open")
}

// CloseSpace stops the space's instance at this member: it refuses clients that wait for a lock through it, revokes the
// locks of clients, and accepts no new requests. It returns when nothing of this member is left in the space: while no
// other member is reachable, it waits. The end of ctx ends only the wait. The error is an ErrConflict if it is opened
// again meanwhile; an ErrLimit if too many callers wait for its end, although it is being closed; an ErrSpace; or the
// context's.
func (o *Service) CloseSpace(ctx context.Context, space string) error {
	return o.turn(ctx, space, &protocol.CloseSpace{}, "close")
}

func (o *Service) turn(ctx context.Context, space string, fact any, op string) error {
	port, err := o.port(space)
	if err != nil {
		return err
	}
	done, err := query[*protocol.SpaceOpen](ctx, o, port, fact)
	switch {
	case err != nil:
		return err
	case errors.Is(done.Err, holdfast.ErrUnsupported):
		return o.unsupported(port, "to "+op+" a space")
	case done.Err == holdfast.ErrConflict:
		return api.Fail(api.CodeConflict, fmt.Sprintf("space %q was asked for the opposite of %s meanwhile", o.name(port), op))
	}
	return done.Err
}

// unsupported returns the error for an operation that a space's protocol does not support.
func (o *Service) unsupported(port protocol.Port, what string) error {
	return api.Fail(api.CodeUnsupported, fmt.Sprintf("protocol %s does not offer %s", o.spaces[port-1].Protocol, what))
}

// port returns the port of a space; "" is the default one.
func (o *Service) port(space string) (protocol.Port, error) {
	if space == "" {
		space = holdfast.DefaultSpace
	}
	if i := slices.IndexFunc(o.spaces, func(s Space) bool { return s.Name == space }); i >= 0 {
		return protocol.Port(i + 1), nil
	}
	names := make([]string, len(o.spaces))
	for i, one := range o.spaces {
		names[i] = one.Name
	}
	return 0, api.Fail(api.CodeUnknownSpace, fmt.Sprintf("unknown space %.80q: this member serves %s", space, strings.Join(names, ", ")))
}

func (o *Service) name(port protocol.Port) string { return o.spaces[port-1].Name }

// query asks the machine at port one question and returns its answer.
func query[T any](ctx context.Context, o *Service, port protocol.Port, fact any) (answer T, err error) {
	ctx, cancel := o.within(ctx)
	defer cancel()
	reply, err := o.driver.Do(ctx, port, fact)
	if errors.Is(err, run.ErrClosed) {
		return answer, holdfast.ErrClosed
	}
	if err != nil {
		return answer, context.Cause(ctx)
	}
	return run.AnswerTo[T](fact, reply)
}

// within returns ctx, which also ends, with ErrClosed as its cause, when the Service is closed.
func (o *Service) within(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(o.life, func() { cancel(holdfast.ErrClosed) })
	return ctx, func() { stop(); cancel(nil) }
}
