package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/client/session"
	"github.com/holdfast-locks/holdfast/internal/clock"
)

// Admin makes calls that need no session of their own: for scripts, operators and
// listings. Its methods may be called from many goroutines. A call goes to the first
// address of the target whose member lives: each address is given 250 ms before the next
// one is asked as well, and what changes something is asked of one member alone. If none
// serves the error is an [*UnreachableError], at once where all refuse the connection.
// Errors are as those of a Client.
type Admin struct {
	settings *settings
	members  []*member // one for each address
	stale    bool      // what is listed and shown may be old
}

// DialAdmin prepares calls to a target, as for [Dial]. It does not connect yet.
func DialAdmin(target string, o ...Option) (*Admin, error) {
	settings, err := resolve(o)
	if err != nil {
		return nil, &holdfast.Error{Op: "dial", Err: err}
	}
	addresses, err := api.ParseTarget(target)
	if err != nil {
		return nil, &holdfast.Error{Op: "dial", Err: err}
	}
	a := &Admin{settings: settings}
	for _, place := range addresses {
		m, err := newMember(settings, place)
		if err != nil {
			return nil, errors.Join(&holdfast.Error{Op: "dial", Err: err}, a.Close())
		}
		a.members = append(a.members, m)
	}
	return a, nil
}

// Close ends the connections, and the calls that are under way.
func (a *Admin) Close() error {
	var all []error
	for _, m := range a.members {
		all = append(all, m.conn.Close())
	}
	return errors.Join(all...)
}

// call makes a unary call at the first member that lives.
func call[Q, A any](ctx context.Context, a *Admin, op string, question *Q,
	ask func(schema.LocksClient, context.Context, *Q, ...grpc.CallOption) (*A, error),
) (*A, error) {
	return reach(ctx, a, op, op != opBreak, func(conn *grpc.ClientConn) (*A, error) { return ask(schema.NewLocksClient(conn), ctx, question) })
}

// opBreak names the call that breaks locks: made at two members it could break the next holder's, too.
const opBreak = "break"

// Leave lets the member at the first address leave its cluster in good order, within
// limit (0: 1 min), and waits for it. The member revokes the locks that clients hold
// through it.
func (a *Admin) Leave(ctx context.Context, limit time.Duration) error {
	_, err := schema.NewAdminClient(a.members[0].conn).Leave(ctx, &schema.LeaveRequest{Limit: api.Span(limit)})
	if err != nil {
		return a.explain("leave", err)
	}
	return nil
}

// Drain lets the member at the first address take nothing new, wait until nothing is
// held through it any more, at most for limit (0: as long as that takes), and then leave.
func (a *Admin) Drain(ctx context.Context, limit time.Duration) error {
	_, err := schema.NewAdminClient(a.members[0].conn).Drain(ctx, &schema.DrainRequest{Limit: api.Span(limit)})
	if err != nil {
		return a.explain("drain", err)
	}
	return nil
}

// explain makes the error of a call at the first address alone.
func (a *Admin) explain(op string, err error) error {
	if !unreached(err) {
		return api.FromStatus(op, err)
	}
	var q attemptLog
	q.end(a.members[0].place, reasonOf(op, err), a.members[0].refuses())
	return q.unreachable(op, nil)
}

// dialSentence leaves the words of the network where gRPC has put its own around
// them.
func dialSentence(message string) string {
	for _, before := range []string{"while dialing: ", "authentication handshake failed: ", "error reading server preface: ", "write client preface: "} {
		if _, inner, ok := strings.Cut(message, before); ok {
			return strings.TrimSuffix(inner, "\"")
		}
	}
	return message
}

// opLock names the call that asks for locks, in errors.
const opLock = "lock"

// Acquisition is the request of Admin.Acquire.
type Acquisition struct {
	Names   []string
	Options []holdfast.Option // Wait is how long to wait; without it the call does not
	TTL     time.Duration     // of the session; 0 means the server's default
	Session string            // id.secret; "" opens a session
	Request string            // idempotency id; "" means a random one
}

// Acquire takes all names or none, in the session that is named or in one that lives
// TTL after its last renewal.
func (a *Admin) Acquire(ctx context.Context, space string, q Acquisition) (*AcquiredAll, error) {
	wanted, err := resolveAll(a.space(space), q.Names, q.Options)
	if err != nil {
		return nil, err
	}
	if len(wanted) == 0 {
		err := fmt.Errorf("%w: give at least one", holdfast.ErrName)
		return nil, &holdfast.Error{Op: opLock, Space: a.space(space), Err: err}
	}
	if q.Request == "" {
		q.Request = rand.Text()
	}
	want := wanted[0].Request
	end := clock.Never
	if want.Wait > 0 {
		end = session.After(a.settings.clock.Now(), want.Wait)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, session.After(want.Wait, session.WaitGrace))
		defer cancel()
	}
	question := &schema.AcquireRequest{
		Space: a.space(space), Names: q.Names, Mode: api.ToMode(want.Mode), Units: int32(want.Units), Capacity: int32(want.Capacity),
		Wait: spanOf(want.Wait), Ttl: spanOf(q.TTL), Hold: spanOf(want.Hold), Owner: want.Owner, Reason: want.Reason,
		Require: api.ToClass(want.Require), Request: &q.Request, Client: a.settings.name,
	}
	if q.Session != "" {
		question.Session = &q.Session
	}
	return reach(ctx, a, opLock, true, func(conn *grpc.ClientConn) (*schema.AcquiredAll, error) {
		// What is left of it, where another address has taken some of it.
		if left := end - a.settings.clock.Now(); end != clock.Never && want.Wait-left >= session.RaceDelay/2 {
			question.Wait = api.Span(max(1, left))
		}
		return schema.NewLocksClient(conn).Acquire(ctx, question)
	})
}

// spanOf is the message of a duration that is left out where it is 0.
func spanOf(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return api.Span(d)
}

// Release gives up a lock that a session holds, and returns when the authority has
// taken it. From a client that uses the lock over a stream it is revoked first, and is free
// when that client has stopped, or when its session's deadline has passed.
func (a *Admin) Release(ctx context.Context, space, name string, token holdfast.Token, session string) error {
	_, err := call(ctx, a, "release", &schema.ReleaseRequest{
		Space: a.space(space), Name: name, Token: uint64(token), Session: session,
	}, schema.LocksClient.Release)
	return err
}

// Renew lets a session live for ttl from the sending of this; 0 means as before.
func (a *Admin) Renew(ctx context.Context, session string, ttl time.Duration) (*Renewed, error) {
	return call(ctx, a, "renew", &schema.RenewRequest{Session: session, Ttl: spanOf(ttl)}, schema.LocksClient.Renew)
}

// EndSession ends a session, and returns what it held. A client that uses the session over
// a stream is asked to stop first, as by Release. In spaces of protocol consensus the session lives
// on where that client has got something new through another member meanwhile.
func (a *Admin) EndSession(ctx context.Context, session string) (*SessionReleased, error) {
	return call(ctx, a, "end", &schema.EndSessionRequest{Session: session}, schema.LocksClient.EndSession)
}

// Stale returns an Admin of the same members whose List and Show may be answered with what is old: with what the member
// that is asked has, even while no member is in charge. It makes a difference only where members have copies of the locks
// (protocol
// consensus); elsewhere, and without it, the answer is as new as the question. Both have the same connections: to
// close one closes the other.
func (a *Admin) Stale() *Admin {
	stale := *a
	stale.stale = true
	return &stale
}

// List returns one page of the names of a space that begin with prefix and come after
// the name after; limit 0 means 1000.
func (a *Admin) List(ctx context.Context, space, prefix, after string, limit int) (*Locks, error) {
	question := &schema.ListRequest{Space: a.space(space), Prefix: prefix, After: after, Stale: a.stale}
	if limit != 0 {
		question.Limit = new(int32(limit))
	}
	return call(ctx, a, "list", question, schema.LocksClient.List)
}

// Show returns one name in full. A free name has no holders.
func (a *Admin) Show(ctx context.Context, space, name string) (*Lock, error) {
	return call(ctx, a, "show", &schema.ShowRequest{Space: a.space(space), Name: name, Stale: a.stale}, schema.LocksClient.Show)
}

// Break takes a name from its holders, or from the one with the token if it is not
// 0. The reason is for people, and must be given; by is the operator, "" meaning the
// name of this program.
func (a *Admin) Break(ctx context.Context, space, name string, token holdfast.Token, reason, by string) (*Broken, error) {
	if by == "" {
		by = a.settings.name
	}
	return call(ctx, a, opBreak, &schema.BreakRequest{
		Space: a.space(space), Name: name, Token: uint64(token), Reason: reason, By: by,
	}, schema.LocksClient.Break)
}

// Status returns how the member, its view and its spaces are.
func (a *Admin) Status(ctx context.Context) (*Status, error) {
	return call(ctx, a, "status", &schema.StatusRequest{}, schema.LocksClient.Status)
}

// Watch yields what happens to the names of a space that begin with prefix, through
// whichever member, from now on, until ctx ends or the member that is asked does; an error
// is the last thing that it yields. Events of one member come in the order of its
// decisions; one with a Since says that some of a member are missing.
// The space "" is that of option Space.
func (a *Admin) Watch(ctx context.Context, space, prefix string) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		question := &schema.WatchRequest{Space: a.space(space), Prefix: prefix}
		begun, enough := false, false
		_, err := reach(ctx, a, opWatch, false, func(conn *grpc.ClientConn) (*struct{}, error) {
			events, err := schema.NewLocksClient(conn).Watch(ctx, question)
			for err == nil && !enough {
				var event *schema.WatchEvent
				if event, err = events.Recv(); err != nil {
					break
				}
				begun = true
				enough = !yield(event, nil)
			}
			if begun && unreached(err) { // what the next member shows does not go on where this one has ended
				err = fmt.Errorf("%w: the member's events have ended: %w", holdfast.ErrUnavailable, reasonOf(opWatch, err))
			}
			return nil, err
		})
		if err != nil && !enough && !errors.Is(err, io.EOF) {
			yield(nil, err)
		}
	}
}

// opWatch names the call in errors.
const opWatch = "watch"

// space is the one named, or that of option Space.
func (a *Admin) space(name string) string {
	if name == "" {
		return a.settings.space
	}
	return name
}
