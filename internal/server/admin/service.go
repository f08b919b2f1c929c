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

// Config configures an Operator. All but the Logger is required.
type Config struct {
	// Driver drives the member's machines: a session.Machine over a protocol.Stack.
	Driver *run.Driver
	// View returns the newest view; the zero View before the first.
	View func() protocol.View
	// Spaces are the lockspaces, the first of them at port 1 of the stack.
	Spaces []Space
	// Logger gets what happens to suspensions. Nil discards.
	Logger *slog.Logger
}

// Space is a lockspace and the name of its protocol.
type Space struct{ Name, Protocol string }

// Service does what operators ask of whole spaces. Its methods may be called from many
// goroutines. Close it before the driver.
type Service struct {
	driver *run.Driver
	view   func() protocol.View
	spaces []Space

	presence *presence

	life context.Context // ends with Close
	end  context.CancelFunc
}

// New returns an Operator. It asks for nothing yet.
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

// Close gives up every suspension that was asked for here. A caller that waits for one gets
// ErrClosed, as does a caller that asks afterwards.
func (o *Service) Close() {
	o.end()
	o.presence.close()
}

// Transfer makes a member the authority of a space, where the space's protocol hands that
// over, and returns which member is it then. The member is given by its name or its address. The
// error is an ErrUnsupported where nothing is handed over; an ErrConflict where the view has
// no such member, or it cannot be the authority, or another was made it meanwhile; an
// ErrUnavailable where no member decides; an ErrSpace; or the context's: then it may be done
// nevertheless.
func (o *Service) Transfer(ctx context.Context, space, member string) (authority []string, err error) {
	port, err := o.port(space)
	if err != nil {
		return nil, err
	}
	view := o.view()
	// A protocol that hands nothing over says so first, whichever member is named, and even if none is because
	// the view does not have the member. That is a conflict to all others.
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

// find returns the id of the member with that name or, where none has it, that address.
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

// OpenSpace begins the space's instance at this member again. One that is open stays so, and
// a caller that waits for it to be closed gets an ErrConflict. The error is an ErrSpace, or the
// context's.
func (o *Service) OpenSpace(ctx context.Context, space string) error {
	return o.turn(ctx, space, &protocol.OpenSpace{}, "open")
}

// CloseSpace ends the space's instance at this member: it refuses a client that waits for a lock
// through it, revokes the locks that clients hold, and takes nothing new. It returns when nothing
// of this member's is left in the space: while no other member can be reached, it waits. The
// end of ctx ends the waiting alone. The error is an ErrConflict where it is opened again
// meanwhile; an ErrLimit where too many wait for its end, and then it is being closed
// nevertheless; an ErrSpace; or the context's.
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

// unsupported is the error of what a space's protocol does not offer.
func (o *Service) unsupported(port protocol.Port, what string) error {
	return api.Fail(api.CodeUnsupported, fmt.Sprintf("protocol %s does not offer %s", o.spaces[port-1].Protocol, what))
}

// port returns where the space of that name is; "" is the default one.
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

// query puts one question to the machine at port and returns its answer.
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

// within returns ctx, which also ends when the Operator is closed: because of ErrClosed.
func (o *Service) within(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(o.life, func() { cancel(holdfast.ErrClosed) })
	return ctx, func() { stop(); cancel(nil) }
}
