package client

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	health "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/client/session"
)

// attemptLimit is the time limit for making an Admin's connection.
const attemptLimit = 5 * time.Second

// member is an address of an Admin, with a lazily opened gRPC connection.
type member struct {
	door
	conn  *grpc.ClientConn
	heard atomic.Int64 // when it last answered, on the settings' clock; 0 for never
}

// newMember returns a member whose connection gRPC opens on first use.
func newMember(settings *settings, place api.Address) (*member, error) {
	m := &member{door: door{place: place}}
	var err error
	m.conn, err = connect(settings, &m.door, attemptLimit, settings.callOptions()...)
	return m, err
}

// connect returns a connection that gRPC opens on first use, through a door, within limit.
func connect(settings *settings, d *door, limit time.Duration, more ...grpc.DialOption) (*grpc.ClientConn, error) {
	options := slices.Concat(settings.dialOptions(limit), []grpc.DialOption{grpc.WithContextDialer(d.open)}, more)
	conn, err := grpc.NewClient(dialTarget(d.place), options...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", d.place, err)
	}
	return conn, nil
}

// presence is the name of no service: a member immediately answers a health check for it with "not found".
const presence = "holdfast.presence"

// settle returns as soon as it is known whether the member is alive: it has sent the first frame of a new connection,
// or answers on the existing one, or the connection has failed, which the next call on it reports at once. A suspended
// process does neither: its kernel accepts connections, but no data arrives.
func (m *member) settle(ctx context.Context, now func() time.Duration) {
	if m.conn.GetState() == connectivity.Ready {
		if last := m.heard.Load(); last == 0 || now()-time.Duration(last) >= session.RaceDelay {
			// Any answer will do; its content does not matter.
			_, _ = health.NewHealthClient(m.conn).Check(ctx, &health.HealthCheckRequest{Service: presence})
		}
		return
	}
	for {
		m.conn.Connect()
		state := m.conn.GetState()
		switch state {
		case connectivity.Ready, connectivity.TransientFailure, connectivity.Shutdown:
			return
		}
		if !m.conn.WaitForStateChange(ctx, state) {
			return
		}
	}
}

// race finds live members, the first address first. Each gets session.RaceDelay before the race tries the next one as
// well.
type race struct {
	admin   *Admin
	inquiry attemptLog
	ctx     context.Context
	cancel  context.CancelFunc
	begun   int
	under   int          // started, not settled
	settled chan *member // has room for all
}

func (a *Admin) race(ctx context.Context) *race {
	r := &race{admin: a, settled: make(chan *member, len(a.members))}
	r.ctx, r.cancel = context.WithCancel(ctx)
	return r
}

// stop ends all attempts in progress.
func (r *race) stop() { r.cancel() }

// begin starts an attempt at the next address, if there is another.
func (r *race) begin() {
	if r.begun == len(r.admin.members) {
		return
	}
	m := r.admin.members[r.begun]
	r.begun++
	r.under++
	r.inquiry.begin(m.place)
	go func() {
		m.settle(r.ctx, r.admin.settings.clock.Now)
		r.settled <- m
	}()
}

// next returns the next member to call, or nil if there is none or the context has ended.
func (r *race) next() *member {
	if r.under == 0 {
		r.begin()
	}
	if r.under == 0 {
		return nil
	}
	clock := r.admin.settings.clock
	timer := clock.NewTimer()
	defer timer.Stop()
	for at := clock.Now() + session.RaceDelay; ; {
		timer.Reset(at)
		select {
		case m := <-r.settled:
			r.under--
			if r.ctx.Err() != nil {
				return nil
			}
			return m
		case <-timer.C():
			if now := clock.Now(); now >= at {
				r.begin()
				at = now + session.RaceDelay
			}
		case <-r.ctx.Done():
			return nil
		}
	}
}

// reach makes a call at the first live member, and at the next one if the network fails before the call is made. A
// member's refusal is final, with two exceptions. A member that does not know the session may simply not be the
// session's member, so another address is tried. And a harmless call goes to the next member if one cannot serve it
// now.
func reach[A any](ctx context.Context, a *Admin, op string, harmless bool, ask func(*grpc.ClientConn) (*A, error)) (*A, error) {
	r := a.race(ctx)
	defer r.stop()
	var said, stranger error
	for m := r.next(); m != nil; m = r.next() {
		answer, err := ask(m.conn)
		if ctx.Err() == nil && !unreached(err) {
			m.heard.Store(int64(a.settings.clock.Now()))
		}
		switch code := api.Code(api.FromStatus(op, err)); {
		case err == nil:
			return answer, nil
		case ctx.Err() != nil:
			return nil, r.over(op)
		case unreached(err):
		case code == api.CodeUnknownSession:
			said, stranger = err, err
		case code == api.CodeUnavailable && harmless:
			said = err
		default:
			return nil, api.FromStatus(op, err)
		}
		r.inquiry.end(m.place, reasonOf(op, err), m.refuses())
	}
	heard, unknown := r.count()
	switch {
	case ctx.Err() != nil:
		return nil, r.over(op)
	case stranger != nil && unknown == 0: // otherwise a member that has not answered may know it
		return nil, api.FromStatus(op, stranger)
	case heard == 1 && unknown == 0:
		return nil, api.FromStatus(op, said)
	}
	return nil, r.inquiry.unreachable(op, nil)
}

// count returns the number of members that have answered, and of addresses whose state is unknown: no member has
// answered there, and the network has not refused.
func (r *race) count() (heard, unknown int) {
	for _, a := range r.inquiry.attempts {
		switch {
		case a.heard:
			heard++
		case !a.refused:
			unknown++
		}
	}
	return heard, unknown
}

// over returns the error of a call whose context has ended, by cancellation or by its deadline.
func (r *race) over(op string) error {
	if err := r.ctx.Err(); err != context.DeadlineExceeded {
		return err
	}
	return r.inquiry.unreachable(op, context.DeadlineExceeded)
}
