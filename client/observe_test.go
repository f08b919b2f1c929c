package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/clock/clocktest"
)

// shower is a server that shows what the test says.
type shower struct {
	*fake
	schema.UnimplementedLocksServer
	asked chan *showing
}

// showing is one observation at a shower.
type showing struct {
	shower   *shower
	question *schema.ObserveRequest
	out      chan *schema.Observed
	end      chan error
	gone     chan struct{} // closed when it is over
}

func newShower(t *testing.T) *shower {
	t.Helper()
	sessions := &fake{calls: make(chan *conversation)}
	s := &shower{asked: make(chan *showing)}
	served := newServer(t, func(server *grpc.Server) {
		schema.RegisterSessionsServer(server, sessions)
		schema.RegisterLocksServer(server, s)
	})
	sessions.t, sessions.ctx, sessions.address, sessions.stop = t, served.ctx, served.address, served.stop
	s.fake = sessions
	return s
}

func (s *shower) Observe(question *schema.ObserveRequest, stream grpc.ServerStreamingServer[schema.Observed]) error {
	v := &showing{s, question, make(chan *schema.Observed), make(chan error), make(chan struct{})}
	defer close(v.gone)
	select {
	case s.asked <- v:
	case <-stream.Context().Done():
		return stream.Context().Err()
	}
	for {
		select {
		case state := <-v.out:
			if err := stream.Send(state); err != nil {
				return err
			}
		case err := <-v.end:
			return err
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

// accept waits for an observation that goes on after a state.
func (s *shower) accept(after string) *showing {
	s.t.Helper()
	select {
	case v := <-s.asked:
		if v.question.GetAfter() != after {
			s.t.Fatalf("asked for %v, want after %q", v.question, after)
		}
		return v
	case <-s.ctx.Done():
		s.t.Fatal("the name is not observed")
	}
	return nil
}

func (v *showing) send(state *schema.Observed) {
	v.shower.t.Helper()
	select {
	case v.out <- state:
	case <-v.shower.ctx.Done():
		v.shower.t.Fatal("the stream is over")
	}
}

func (v *showing) ends(err error) {
	v.shower.t.Helper()
	select {
	case v.end <- err:
	case <-v.shower.ctx.Done():
		v.shower.t.Fatal("the stream is over")
	}
}

// left waits until the client has left the stream.
func (v *showing) left() {
	v.shower.t.Helper()
	select {
	case <-v.gone:
	case <-v.shower.ctx.Done():
		v.shower.t.Fatal("the client does not leave the stream")
	}
}

// heldBy is a state: the name is held under a token, or free under 0.
func heldBy(token uint64, id string) *schema.Observed {
	state := &schema.Observed{Space: "default", Name: "x", Id: id}
	if token > 0 {
		state.Holders = []*schema.Grant{{Token: token, Client: "job", Member: "a", Value: fmt.Sprint("value ", token)}}
	}
	return state
}

func missed(state *schema.Observed) *schema.Observed {
	state.Missed = true
	return state
}

// observed is an observation in progress, whose states a test reads one by one.
type observed struct {
	t      *testing.T
	ctx    context.Context
	states chan holdfast.State
	errs   chan error
	stop   context.CancelFunc
}

// follow reads an observation until the test ends.
func follow(t *testing.T, f *fake, observe func(context.Context) iter.Seq2[holdfast.State, error]) *observed {
	t.Helper()
	ctx, cancel := context.WithCancel(f.ctx)
	o := &observed{t, f.ctx, make(chan holdfast.State, 100), make(chan error, 1), cancel}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for state, err := range observe(ctx) {
			if err != nil {
				o.errs <- err
			} else {
				o.states <- state
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return o
}

// followAt is follow with an Admin of addresses.
func followAt(t *testing.T, f *fake, target string, options ...Option) *observed {
	t.Helper()
	a, err := DialAdmin(target, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return follow(t, f, func(ctx context.Context) iter.Seq2[holdfast.State, error] {
		return func(yield func(holdfast.State, error) bool) {
			for state, err := range a.Observe(ctx, "", "x") {
				if !yield(api.FromObserved(state), err) {
					return
				}
			}
		}
	})
}

// shows waits for the next state.
func (o *observed) shows(token holdfast.Token, missed bool) {
	o.t.Helper()
	select {
	case state := <-o.states:
		if leader, _ := state.Leader(); leader.Token != token || state.Missed != missed {
			o.t.Fatalf("the next state is %+v, want token %v, missed %v", state, token, missed)
		}
	case err := <-o.errs:
		o.t.Fatalf("it ends with %v, want token %v", err, token)
	case <-o.ctx.Done():
		o.t.Fatalf("no state comes, want token %v", token)
	}
}

// fails waits for the end.
func (o *observed) fails(target error) error {
	o.t.Helper()
	select {
	case state := <-o.states:
		o.t.Fatalf("the next state is %+v, want error %v", state, target)
	case err := <-o.errs:
		if !errors.Is(err, target) {
			o.t.Fatalf("it ends with %v, want %v", err, target)
		}
		return err
	case <-o.ctx.Done():
		o.t.Fatalf("it does not end, want %v", target)
	}
	return nil
}

// TestObserve has a Client observe names of two spaces, and leave.
func TestObserve(t *testing.T) {
	s := newShower(t)
	st, _ := s.dialled(s.address)
	var got []holdfast.State
	done := make(chan struct{})
	go func() {
		defer close(done)
		for state, err := range st.client.Observe(s.ctx, "x") {
			if got = append(got, state); err != nil || len(got) == 2 {
				break
			}
		}
	}()
	v := s.accept("")
	v.send(&schema.Observed{})
	since := time.Unix(1000, 7).UTC()
	v.send(&schema.Observed{
		Space: "default", Name: "x", Id: "1",
		Holders: []*schema.Grant{{Client: "c", Owner: "o", Member: "m", Reason: "r", Value: "v", Token: 7, Mode: schema.Mode_MODE_SLOTS, Units: 3, Since: api.Stamp(since)}},
		Waiters: []*schema.Wait{{Client: "c2", Owner: "o2", Member: "m2", Reason: "r2", Mode: schema.Mode_MODE_SHARED, Since: api.Stamp(since)}},
	})
	v.send(&schema.Observed{})
	v.send(heldBy(0, "2"))
	<-done
	v.left()
	holder := holdfast.Holder{Client: "c", Owner: "o", Member: "m", Reason: "r", Value: "v", Token: 7, Mode: holdfast.ModeSlots, Units: 3, Since: since}
	waiter := holdfast.Waiter{Client: "c2", Owner: "o2", Member: "m2", Reason: "r2", Mode: holdfast.ModeShared, Since: since}
	if len(got) != 2 || len(got[0].Holders) != 1 || got[0].Holders[0] != holder || len(got[0].Waiters) != 1 || got[0].Waiters[0] != waiter ||
		len(got[1].Holders)+len(got[1].Waiters) != 0 || got[0].Name != "x" || got[0].Space != "default" {
		t.Errorf("got %+v", got)
	}

	o := follow(t, s.fake, func(ctx context.Context) iter.Seq2[holdfast.State, error] {
		return st.client.Space("billing").(holdfast.Observer).Observe(ctx, "x")
	})
	v = s.accept("")
	if v.question.GetSpace() != "billing" || v.question.GetName() != "x" {
		t.Errorf("asked for %v", v.question)
	}
	o.stop()
	o.fails(context.Canceled)
	v.left()
	ours.mu.Lock()
	defer ours.mu.Unlock()
	for key := range ours.shared {
		if key.place.Place == s.address {
			t.Error("a connection is left")
		}
	}
}

// TestObserveResumes breaks the stream. The same member is asked for what has followed, says whether any is missing,
// and repeats nothing.
func TestObserveResumes(t *testing.T) {
	s := newShower(t)
	o := followAt(t, s.fake, s.address)
	v := s.accept("")
	v.send(missed(heldBy(3, "1"))) // of a first state nothing is missed
	o.shows(3, false)
	v.ends(status.Error(codes.Unavailable, "broken by the test"))
	v = s.accept("1")
	v.send(heldBy(0, "2"))
	o.shows(0, false)
	v.ends(nil)
	v = s.accept("2")
	v.send(&schema.Observed{})
	v.send(missed(heldBy(0, "9")))
	v.ends(status.Error(codes.Internal, "broken by the test"))
	v = s.accept("9")
	v.send(heldBy(5, "10"))
	o.shows(5, true)
	v.send(heldBy(6, "11"))
	o.shows(6, false)
	v.send(missed(heldBy(8, "20")))
	o.shows(8, true)
}

// TestObserveElsewhere has members end. Another one that serves is asked for its present state, and one state reports
// what may have been missed until then.
func TestObserveElsewhere(t *testing.T) {
	one, two := newShower(t), newShower(t)
	o := followAt(t, one.fake, one.address+","+two.address)
	v := one.accept("")
	v.send(heldBy(3, "1"))
	o.shows(3, false)
	v.ends(api.ToStatus(&holdfast.UnavailableError{Why: "the test says so"}))
	v = two.accept("") // the first one has said that it cannot go on
	v.send(heldBy(3, "100"))
	v.send(heldBy(0, "101"))
	o.shows(0, true)
	v.ends(status.Error(codes.Unavailable, "broken by the test"))
	two.accept("101").ends(api.ToStatus(holdfast.ErrUnavailable))
	v = one.accept("")
	v.send(heldBy(4, "2"))
	o.shows(4, true)
	one.stop()
	v = two.accept("")
	v.send(heldBy(4, "102"))
	v.send(heldBy(4, "103"))
	v.send(heldBy(5, "104"))
	o.shows(5, true)
}

// TestObserveSilence lets a member fall silent: its stream and its connection are left.
func TestObserveSilence(t *testing.T) {
	s, at := newShower(t), clocktest.NewManual()
	o := followAt(t, s.fake, s.address, withClock(at))
	v := s.accept("")
	v.send(heldBy(3, "1"))
	o.shows(3, false)
	advance := func(d, left time.Duration) {
		t.Helper()
		waitFor(t, func() bool { return at.Next() == at.Now()+left })
		at.Advance(d)
	}
	for range 3 {
		advance(14*time.Second, 15*time.Second)
		v.send(&schema.Observed{})
	}
	advance(14*time.Second, 15*time.Second)
	advance(time.Second, time.Second)
	v.left()
	v = s.accept("1")
	v.send(heldBy(4, "2"))
	o.shows(4, false)
}

// TestObserveRefused has a member refuse: finally, or for now.
func TestObserveRefused(t *testing.T) {
	for _, final := range []struct {
		err, want error
	}{
		{api.ToStatus(holdfast.ErrSpace), holdfast.ErrSpace},
		{api.ToStatus(holdfast.ErrName), holdfast.ErrName},
		{api.ToStatus(holdfast.ErrDenied), holdfast.ErrDenied},
		{api.ToStatus(api.Fail(api.CodeUnauthenticated, "no token")), holdfast.ErrDenied},
		{api.ToStatus(holdfast.ErrUnsupported), holdfast.ErrUnsupported},
		{status.Error(codes.Unimplemented, "unknown method Observe"), holdfast.ErrUnsupported},
	} {
		s := newShower(t)
		o := followAt(t, s.fake, s.address)
		s.accept("").ends(final.err)
		var named *holdfast.Error
		if err := o.fails(final.want); !errors.As(err, &named) || named.Op != "observe" || named.Space != "default" || named.Name != "x" {
			t.Errorf("it ends with %#v", err)
		}
	}
	s := newShower(t)
	o := followAt(t, s.fake, s.address)
	for _, passing := range []error{
		api.ToStatus(&holdfast.LimitError{Limit: "observers", Value: 1}), api.ToStatus(holdfast.ErrUnavailable), api.ToStatus(errors.New("internal")),
		status.Error(codes.Unavailable, "broken"), status.Error(codes.ResourceExhausted, "too large"), nil,
	} {
		s.accept("").ends(passing)
	}
	v := s.accept("")
	v.send(heldBy(3, "1"))
	o.shows(3, false)
	v.ends(api.ToStatus(holdfast.ErrDenied)) // as for a token that has expired
	s.accept("1").ends(api.ToStatus(holdfast.ErrDenied))
	o.fails(holdfast.ErrDenied)
}

// TestObserveOlderMember has a member of an older release follow one that has served: a newer one is looked for.
func TestObserveOlderMember(t *testing.T) {
	one, two := newShower(t), newShower(t)
	o := followAt(t, one.fake, one.address+","+two.address)
	v := one.accept("")
	v.send(heldBy(3, "1"))
	o.shows(3, false)
	v.ends(api.ToStatus(holdfast.ErrUnavailable))
	two.accept("").ends(status.Error(codes.Unimplemented, "unknown method Observe"))
	v = one.accept("1")
	v.send(heldBy(4, "2"))
	o.shows(4, false)
}

// TestObserveNonsense has a server show what no member shows. It is passed over.
func TestObserveNonsense(t *testing.T) {
	s := newShower(t)
	o := followAt(t, s.fake, s.address)
	for _, change := range []func(*schema.Observed){
		func(state *schema.Observed) { state.Name = "y" },
		func(state *schema.Observed) { state.Space = "billing" },
		func(state *schema.Observed) { state.Holders[0].Mode = 17 },
		func(state *schema.Observed) { state.Holders[0].Token = 1 << 63 },
		func(state *schema.Observed) { state.Waiters = []*schema.Wait{{Mode: -1}} },
	} {
		v := s.accept("")
		state := heldBy(3, "1")
		change(state)
		v.send(state)
		v.left()
	}
	s.accept("").send(heldBy(3, "1"))
	o.shows(3, false)
}

// TestObserveEnds checks what ends an observation here: its context, its deadline, and Close.
func TestObserveEnds(t *testing.T) {
	s := newShower(t)
	st, _ := s.dialled(s.address)
	past, cancel := context.WithTimeout(s.ctx, 0)
	defer cancel()
	for name, tt := range map[string]struct {
		ctx  context.Context
		name string
		by   holdfast.Locker
		want error
	}{
		"deadline": {past, "x", st.client, context.DeadlineExceeded},
		"name":     {s.ctx, "", st.client, holdfast.ErrName},
		"space":    {s.ctx, "x", st.client.Space("\n"), holdfast.ErrName},
	} {
		count := 0
		for state, err := range tt.by.(holdfast.Observer).Observe(tt.ctx, tt.name) {
			if count++; !errors.Is(err, tt.want) || state.Name != "" {
				t.Errorf("%s: %+v, error %v, want %v", name, state, err, tt.want)
			}
		}
		if count != 1 {
			t.Errorf("%s: %d values", name, count)
		}
	}
	o := follow(t, s.fake, func(ctx context.Context) iter.Seq2[holdfast.State, error] { return st.client.Observe(ctx, "x") })
	v := s.accept("")
	v.send(heldBy(3, "1"))
	o.shows(3, false)
	_ = st.client.Close() // the fake does not answer it
	o.fails(holdfast.ErrClosed)
	v.left()
	o = follow(t, s.fake, func(ctx context.Context) iter.Seq2[holdfast.State, error] { return st.client.Observe(ctx, "x") })
	o.fails(holdfast.ErrClosed)
}

// TestWanted has a Client's lock be wanted.
func TestWanted(t *testing.T) {
	s := newShower(t)
	st, conversation := s.dialled(s.address)
	lock := st.hold(conversation, "x", 3)
	wanted := lock.Wanted()
	v := s.accept("")
	v.send(heldBy(3, "1"))
	state := heldBy(3, "2")
	state.Waiters = []*schema.Wait{{Client: "next"}}
	v.send(state)
	<-wanted
	v.left()
}
