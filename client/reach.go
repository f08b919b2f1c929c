package client

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	health "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/client/session"
)

// attemptLimit is how long an Admin's connection may take to be made.
const attemptLimit = 5 * time.Second

// member is an address of an Admin, with a connection that gRPC opens when it is used.
type member struct {
	door
	conn  *grpc.ClientConn
	heard atomic.Int64 // when it has answered last, on the settings' clock; 0 for never
}

// newMember makes a connection that gRPC opens when it is used.
func newMember(settings *settings, place api.Address) (*member, error) {
	m := &member{door: door{place: place}}
	var err error
	m.conn, err = connect(settings, &m.door, attemptLimit)
	return m, err
}

// connect makes a connection that gRPC opens when it is used, through a door, in no more time than limit.
func connect(settings *settings, d *door, limit time.Duration) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient(dialTarget(d.place), append(settings.dialOptions(limit), grpc.WithContextDialer(d.open))...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", d.place, err)
	}
	return conn, nil
}

// presence names no service: asked how that is, a member answers at once that there is none.
const presence = "holdfast.presence"

// settle returns as soon as it is known whether the member lives: it has sent the first
// frame of a new connection or answers on the one that there is, or the connection has
// failed, which the next call on it says at once. A process that stands still does neither:
// its kernel accepts connections, and nothing comes.
func (m *member) settle(ctx context.Context, now func() time.Duration) {
	if m.conn.GetState() == connectivity.Ready {
		if last := m.heard.Load(); last == 0 || now()-time.Duration(last) >= session.RaceDelay {
			// How it answers says nothing; that it does is what is asked.
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

// race finds members that live, the first address first. Each is given session.RaceDelay before the
// next one is asked as well.
type race struct {
	admin   *Admin
	inquiry attemptLog
	ctx     context.Context
	cancel  context.CancelFunc
	begun   int
	under   int          // begun, and not settled
	settled chan *member // has room for all
}

func (a *Admin) race(ctx context.Context) *race {
	r := &race{admin: a, settled: make(chan *member, len(a.members))}
	r.ctx, r.cancel = context.WithCancel(ctx)
	return r
}

// stop ends the looking for members that has not ended.
func (r *race) stop() { r.cancel() }

// begin asks the next address, if there is another.
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

// next returns the next member to make the call at, or nil when there is none, or the
// context has ended.
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

// reach makes a call at the first member that lives, and at the next one where the network
// fails before it is made. A member's own refusal is final, with two exceptions. One that
// does not know the session may not be its member, which another address may be. And what
// can be asked of two members without harm is asked of the next one if a member cannot
// serve it now.
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
	case stranger != nil && unknown == 0: // otherwise one that was not heard may know it
		return nil, api.FromStatus(op, stranger)
	case heard == 1 && unknown == 0:
		return nil, api.FromStatus(op, said)
	}
	return nil, r.inquiry.unreachable(op, nil)
}

// count counts the members that have answered, and the addresses of which nothing is known:
// neither a member's word, nor that nothing listens there.
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

// over is the error of a call whose context has ended: of a caller that does not want it
// any more, or of one whose time is over.
func (r *race) over(op string) error {
	if err := r.ctx.Err(); err != context.DeadlineExceeded {
		return err
	}
	return r.inquiry.unreachable(op, context.DeadlineExceeded)
}
