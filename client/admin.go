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
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/client/session"
	"github.com/holdfast-locks/holdfast/internal/clock"
)

// Admin makes calls that need no session of their own: for scripts, operators and listings. Its methods are safe for
// concurrent use. A call goes to the first address of the target with a live member. Each address gets 250 ms before
// the Admin also tries the next; a call that changes something goes to one member only. If no member serves the call,
// the error is an [*UnreachableError], returned at once if all addresses refuse the connection. Errors are as those of
// a Client.
type Admin struct {
	settings *settings
	members  []*member // one per address
	stale    bool      // lists and lookups may return old state

	over context.Context // ends with Close
	end  context.CancelFunc
}

// DialAdmin prepares calls to a target, as for [Dial]. It does not connect yet.
func DialAdmin(target string, o ...Option) (*Admin, error) {
	settings, err := resolve(o)
	if err != nil {
		return nil, &holdfast.Error{Op: "dial", Err: err}
	}
	addresses, err := api.ParseTarget(target)
	if err == nil {
		err = settings.checkToken(addresses)
	}
	if err != nil {
		return nil, &holdfast.Error{Op: "dial", Err: err}
	}
	a := &Admin{settings: settings}
	a.over, a.end = context.WithCancel(context.Background())
	for _, place := range addresses {
		m, err := newMember(settings, place)
		if err != nil {
			return nil, errors.Join(&holdfast.Error{Op: "dial", Err: err}, a.Close())
		}
		a.members = append(a.members, m)
	}
	return a, nil
}

// Close closes the connections and ends calls in progress.
func (a *Admin) Close() error {
	a.end()
	var all []error
	for _, m := range a.members {
		all = append(all, m.conn.Close())
	}
	return errors.Join(all...)
}

// Name returns the client's name that listings show with requests of this Admin: that of option [Name], or its default.
func (a *Admin) Name() string { return a.settings.name }

// call makes a unary call at the first live member.
func call[Q, A any](ctx context.Context, a *Admin, op string, question *Q,
	ask func(schema.LocksClient, context.Context, *Q, ...grpc.CallOption) (*A, error),
) (*A, error) {
	return reach(ctx, a, op, op != opBreak, func(conn *grpc.ClientConn) (*A, error) { return ask(schema.NewLocksClient(conn), ctx, question) })
}

// opBreak is the name of the break call: made at two members it could also break the next holder's lock.
const opBreak = "break"

// Leave makes the member at the first address leave its cluster cleanly, and waits at most limit for it (0: 1 min). The
// member revokes the locks that clients hold through it.
func (a *Admin) Leave(ctx context.Context, limit time.Duration) error {
	_, err := schema.NewAdminClient(a.members[0].conn).Leave(ctx, &schema.LeaveRequest{Limit: api.Span(limit)})
	if err != nil {
		return a.explain("leave", err)
	}
	return nil
}

// Drain makes the member at the first address accept nothing new, wait until nothing is held through it, at most for
// limit (0: no limit), and then leave.
func (a *Admin) Drain(ctx context.Context, limit time.Duration) error {
	_, err := schema.NewAdminClient(a.members[0].conn).Drain(ctx, &schema.DrainRequest{Limit: api.Span(limit)})
	if err != nil {
		return a.explain("drain", err)
	}
	return nil
}

// explain returns the error of a call that goes to the first address only.
func (a *Admin) explain(op string, err error) error {
	if !unreached(err) {
		return api.FromStatus(op, err)
	}
	var q attemptLog
	q.end(a.members[0].place, reasonOf(op, err), a.members[0].refuses())
	return q.unreachable(op, nil)
}

// dialSentence strips gRPC's wrapping from a network error's message.
func dialSentence(message string) string {
	for _, before := range []string{"while dialing: ", "authentication handshake failed: ", "error reading server preface: ", "write client preface: "} {
		if _, inner, ok := strings.Cut(message, before); ok {
			return strings.TrimSuffix(inner, "\"")
		}
	}
	return message
}

// opLock is the name of lock calls in errors.
const opLock = "lock"

// Acquisition is the request of Admin.Acquire.
type Acquisition struct {
	Names   []string
	Options []holdfast.Option // Wait is the wait limit; without it the call does not wait
	TTL     time.Duration     // of the session; 0 means the server's default
	Session string            // id.secret; "" opens a session
	Request string            // idempotency id; "" means a random one
}

// Acquire takes all names or none, in the named session or in a new one that lives for TTL after its last renewal.
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
		Wait: spanOf(want.Wait), Ttl: spanOf(q.TTL), Hold: spanOf(want.Hold), Owner: want.Owner, Reason: want.Reason, Value: want.Value,
		Require: api.ToClass(want.Require), Deadlock: api.ToDeadlock(want.Deadlock), Request: &q.Request, Client: a.settings.name,
	}
	if q.Session != "" {
		question.Session = &q.Session
	}
	return reach(ctx, a, opLock, true, func(conn *grpc.ClientConn) (*schema.AcquiredAll, error) {
		// The remaining wait, after another address has used part of it.
		if left := end - a.settings.clock.Now(); end != clock.Never && want.Wait-left >= session.RaceDelay/2 {
			question.Wait = api.Span(max(1, left))
		}
		return schema.NewLocksClient(conn).Acquire(ctx, question)
	})
}

// spanOf returns the message of a duration, or nil for 0.
func spanOf(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return api.Span(d)
}

// Release releases a lock that a session holds, and returns when the authority has accepted the release. If a client
// uses the lock over a stream, the release revokes it first: it is free when that client has stopped, or when its
// session's deadline has passed.
func (a *Admin) Release(ctx context.Context, space, name string, token holdfast.Token, session string) error {
	_, err := call(ctx, a, "release", &schema.ReleaseRequest{
		Space: a.space(space), Name: name, Token: uint64(token), Session: session,
	}, schema.LocksClient.Release)
	return err
}

// SetValue replaces the value of a lock that a session holds (see [holdfast.Value]), and returns when the authority has
// it.
func (a *Admin) SetValue(ctx context.Context, space, name string, token holdfast.Token, session, value string) error {
	_, err := call(ctx, a, opAmend, &schema.SetValueRequest{
		Space: a.space(space), Name: name, Token: uint64(token), Session: session, Value: value,
	}, schema.LocksClient.SetValue)
	return err
}

// Renew extends a session to ttl from when this call is sent; 0 keeps the session's ttl.
func (a *Admin) Renew(ctx context.Context, session string, ttl time.Duration) (*Renewed, error) {
	return call(ctx, a, "renew", &schema.RenewRequest{Session: session, Ttl: spanOf(ttl)}, schema.LocksClient.Renew)
}

// EndSession ends a session, and returns the locks it held. A client that uses the session over a stream must stop
// first, as with Release. In spaces of protocol consensus the session lives on if that client has acquired something
// through another member in the meantime.
func (a *Admin) EndSession(ctx context.Context, session string) (*SessionReleased, error) {
	return call(ctx, a, "end", &schema.EndSessionRequest{Session: session}, schema.LocksClient.EndSession)
}

// Stale returns an Admin of the same members whose List and Show accept stale answers: the state of the member that
// answers, even while no member is in charge. This matters only if members keep copies of the locks (protocol
// consensus); in other protocols, and without Stale, the answer is as new as the call. Both Admins share their
// connections: closing one closes the other.
func (a *Admin) Stale() *Admin {
	stale := *a
	stale.stale = true
	return &stale
}

// List returns one page of a space's names that begin with prefix and sort after the name after; limit 0 means 1000.
func (a *Admin) List(ctx context.Context, space, prefix, after string, limit int) (*Locks, error) {
	question := &schema.ListRequest{Space: a.space(space), Prefix: prefix, After: after, Stale: a.stale}
	if limit != 0 {
		question.Limit = new(int32(limit))
	}
	return call(ctx, a, "list", question, schema.LocksClient.List)
}

// Show returns the full state of one name. A free name has no holders.
func (a *Admin) Show(ctx context.Context, space, name string) (*Lock, error) {
	return call(ctx, a, "show", &schema.ShowRequest{Space: a.space(space), Name: name, Stale: a.stale}, schema.LocksClient.Show)
}

// Break takes a name from its holders, or only from the holder of token if token is not 0. The reason is a required
// text for people; by is the operator, "" meaning the name of this program.
func (a *Admin) Break(ctx context.Context, space, name string, token holdfast.Token, reason, by string) (*Broken, error) {
	if by == "" {
		by = a.settings.name
	}
	return call(ctx, a, opBreak, &schema.BreakRequest{
		Space: a.space(space), Name: name, Token: uint64(token), Reason: reason, By: by,
	}, schema.LocksClient.Break)
}

// Status returns the state of the member, its view and its spaces.
func (a *Admin) Status(ctx context.Context) (*Status, error) {
	return call(ctx, a, "status", &schema.StatusRequest{}, schema.LocksClient.Status)
}

// Watch yields events about the names of a space that begin with prefix, from any member, from now until ctx or the
// answering member ends; an error is the last element. Events of one member arrive in the order of its decisions; an
// event with a Since reports that some events of a member are missing. The space "" is that of option Space. Each begun
// is called before the first event, when no event from then on is missing: a listing that is requested after that and the
// events have no gap between them.
func (a *Admin) Watch(ctx context.Context, space, prefix string, begun ...func()) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		question := &schema.WatchRequest{Space: a.space(space), Prefix: prefix}
		bound, enough := false, false
		_, err := reach(ctx, a, opWatch, false, func(conn *grpc.ClientConn) (*struct{}, error) {
			events, err := schema.NewLocksClient(conn).Watch(ctx, question)
			if err == nil {
				var header metadata.MD
				header, err = events.Header()
				bound = header != nil // else Recv says why the stream has ended
			}
			if err == nil && bound {
				for _, tell := range begun {
					tell()
				}
			}
			for err == nil && !enough {
				var event *schema.WatchEvent
				if event, err = events.Recv(); err != nil {
					break
				}
				enough = !yield(event, nil)
			}
			if bound && unreached(err) { // another member's events do not continue this stream
				err = fmt.Errorf("%w: the member's events have ended: %w", holdfast.ErrUnavailable, reasonOf(opWatch, err))
			}
			return nil, err
		})
		if err != nil && !enough && !errors.Is(err, io.EOF) {
			yield(nil, err)
		}
	}
}

// opWatch is the name of the call in errors.
const opWatch = "watch"

// space returns name, or the space of option Space if name is "".
func (a *Admin) space(name string) string {
	if name == "" {
		return a.settings.space
	}
	return name
}
