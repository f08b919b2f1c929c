package grpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/internal/transport/secure"
)

var (
	// errOneself reports that this member has reached itself.
	errOneself = errors.New("this address is the member's own")
	errStuck   = errors.New("no receipt within the deadline")
	errSlow    = errors.New("no welcome within the time of a handshake")
)

// link is one stream to a peer, after its welcome.
type link struct {
	t       *Transport
	conn    *grpc.ClientConn
	stream  grpc.BidiStreamingClient[schema.MemberFrame, schema.MemberReceipt]
	life    context.Context
	cancel  context.CancelCauseFunc
	peer    greeting
	cluster uint64 // this member's, as in its greeting

	broken chan struct{} // closed when nothing can be sent any more
	ended  chan struct{} // closed when nothing of it runs any more
	riders atomic.Int64  // open connections of the gossip, and streams of events

	mu        sync.Mutex
	trip      time.Duration // its shortest round trip, by the greeting and by receipts
	timed     uint64        // the frame whose receipt gives the next measurement; 0 if none was sent since the last
	timedAt   time.Time     // when it was sent
	sent      uint64
	confirmed uint64
	silence   int  // number of successive checks with frames unconfirmed and no receipt
	quiet     bool // nothing was sent since the last call of used
	guard     *time.Timer
}

// looks is the number of checks of a link within the deadline. Silence counts in checks, so that a time in which this
// process slept, or had no CPU, counts as one.
const looks = 4

// reach opens a stream and exchanges greetings. The error is errOneself if it finds this member itself. Each step has
// the time limit of a handshake, which is the cost of a peer that does not answer: to connect, to agree on encryption,
// to be welcomed. Between distant peers all of them together take several round trips.
func (p *peer) reach() (*link, error) {
	select {
	case <-p.called: // it is being answered
	default:
	}
	t := p.t
	life, cancel := context.WithCancelCause(t.life)
	l := &link{t: t, life: life, cancel: cancel, broken: make(chan struct{}), ended: make(chan struct{})}
	slow := time.AfterFunc(t.config.handshake(), func() { cancel(errSlow) })
	err := l.greet(p, func() { slow.Reset(t.config.handshake()) })
	slow.Stop()
	if err == nil {
		err = context.Cause(life)
	}
	if err != nil {
		if cause := context.Cause(life); cause != nil {
			err = cause
		}
		cancel(err)
		if l.conn != nil {
			err = errors.Join(err, l.conn.Close())
		}
		t.unlearnPeer(p)
		var refusal *transport.Refusal
		if errors.As(err, &refusal) {
			t.config.Observer.Refused(refusal.What)
		}
		return nil, err
	}
	l.guard = time.AfterFunc(l.deadline(), l.look)
	l.guard.Stop()
	t.work.Go(l.confirm)
	return l, nil
}

// greet opens the stream and exchanges greetings. It calls step when the peer has made progress.
func (l *link) greet(p *peer, step func()) (err error) {
	if l.conn, err = l.t.connect(p, step); err != nil {
		return err
	}
	if l.stream, err = schema.NewMembersClient(l.conn).Link(l.life); err != nil {
		return plain(err)
	}
	step()
	hello := l.t.hello(p.address)
	l.cluster = hello.GetCluster()
	greeted := time.Now()
	// The error of a send is uninformative; the receipt has it in full.
	_ = l.stream.Send(&schema.MemberFrame{Hello: hello})
	receipt, err := l.stream.Recv()
	if err != nil {
		return because(plain(err), l.stream.Trailer())
	}
	l.trip = time.Since(greeted)
	if l.peer, err = l.t.believe(l.stream.Context(), receipt.GetWelcome()); err != nil {
		return err
	}
	return l.t.learnPeer(p, l)
}

// connect returns a new connection to an address: closing it discards everything that its kernel still wants to send.
// It calls reached once it is connected.
func (t *Transport) connect(p *peer, reached func()) (*grpc.ClientConn, error) {
	p.notListening.Store(false)
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		conn, err := t.config.Dial(ctx, address)
		switch {
		case err == nil:
			reached()
		case errors.Is(err, syscall.ECONNREFUSED):
			p.notListening.Store(true)
		}
		return conn, err
	}
	conn, err := grpc.NewClient("passthrough:///"+p.address,
		grpc.WithTransportCredentials(secure.Calling(t.config.Certificates)),
		grpc.WithContextDialer(dial),
		grpc.WithStaticStreamWindowSize(window), grpc.WithStaticConnWindowSize(window),
		grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(), grpc.WithIdleTimeout(0),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: max(2*time.Second, t.config.handshake())}),
	)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", p.address, err)
	}
	return conn, nil
}

// send sends one frame. It waits only while the stream accepts nothing, and no longer than the deadline.
func (l *link) send(frame *schema.MemberFrame) error {
	l.mu.Lock()
	l.sent++
	if l.timed == 0 {
		l.timed, l.timedAt = l.sent, time.Now()
	}
	l.quiet = false
	if l.sent == l.confirmed+1 {
		l.heard()
	}
	l.mu.Unlock()
	return l.stream.SendMsg(frame)
}

// deadline returns how long frames may stay unconfirmed: Config.Deadline, or two round trips of this link if that is
// longer, and at most the time of a handshake. A link that has become slower is closed, and the greeting of the next
// one measures how slow. It is called with the mutex held, or before anything is sent.
func (l *link) deadline() time.Duration {
	return min(max(l.t.config.Deadline, 2*l.trip), l.t.config.handshake())
}

// confirms handles a receipt. It is called with the mutex held.
func (l *link) confirms(frames uint64) {
	l.confirmed = min(max(l.confirmed, frames), l.sent)
	if l.timed > 0 && l.confirmed >= l.timed {
		l.trip, l.timed = min(l.trip, time.Since(l.timedAt)), 0
	}
	l.heard()
}

// heard restarts the count of silence. It is called with the mutex held.
func (l *link) heard() {
	l.silence = 0
	if l.sent > l.confirmed {
		l.guard.Reset(l.deadline() / looks)
	} else {
		l.guard.Stop()
	}
}

// look counts silence, and closes the link when there was too much of it.
func (l *link) look() {
	l.mu.Lock()
	l.silence++
	stuck := l.sent > l.confirmed && l.silence >= looks
	if l.sent > l.confirmed && !stuck {
		l.guard.Reset(l.deadline() / looks)
	}
	l.mu.Unlock()
	if stuck {
		l.close(errStuck)
	}
}

// confirm receives receipts until the stream ends.
func (l *link) confirm() {
	defer close(l.ended)
	receipt := &schema.MemberReceipt{}
	for {
		if err := l.stream.RecvMsg(receipt); err != nil {
			l.close(plain(err))
			break
		}
		l.mu.Lock()
		l.confirms(receipt.GetFrames())
		l.mu.Unlock()
		if receipt.GetWelcome() == nil {
			l.t.learnPolicy(l, receipt.GetPolicy())
		}
	}
	l.guard.Stop()
	if err := l.conn.Close(); err != nil {
		l.t.config.Logger.Debug("close the connection to a member", "error", err)
	}
}

// close closes the link; the first cause counts. It never blocks.
func (l *link) close(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.life.Err() == nil {
		l.cancel(cause)
	}
	select {
	case <-l.broken:
	default:
		close(l.broken)
	}
}

// cause returns why the link was closed.
func (l *link) cause() error { return context.Cause(l.life) }

// used reports whether anything was sent since its last call, or something else uses the connection.
func (l *link) used() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	used := !l.quiet || l.riders.Load() > 0
	l.quiet = true
	return used
}

// plain removes gRPC's own text from an error.
func plain(err error) error {
	s, ok := status.FromError(err)
	switch {
	case !ok:
		return err
	case s.Code() == codes.FailedPrecondition:
		return &theirRefusal{sentence: s.Message()}
	}
	return errors.New(s.Message())
}

// because adds to a refusal the word in its trailer.
func because(err error, trailer metadata.MD) error {
	var refusal *theirRefusal
	if what := trailer.Get(refusalKey); len(what) > 0 && errors.As(err, &refusal) {
		refusal.what = what[0]
	}
	return err
}

// theirRefusal is the other member's refusal of this one; what is its one-word reason, "" if it has none.
type theirRefusal struct{ sentence, what string }

func (r *theirRefusal) Error() string { return "it says: " + r.sentence }

// refused reports whether the operator must act before the peer listens.
func refused(err error) bool {
	var ours *transport.Refusal
	var theirs *theirRefusal
	return errors.As(err, &ours) || errors.As(err, &theirs)
}
