package client

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// tooMuch refuses a hello, or a request, as an overloaded member does.
func tooMuch(id uint64) *schema.Event {
	problem := api.ToProblem(&api.Failure{
		Code: api.CodeLimit, Detail: "member a is overloaded: try again in 1s", Err: &holdfast.LimitError{Limit: "overload", Value: 1000},
	})
	return &schema.Event{Id: id, Kind: &schema.Event_Refused{Refused: &schema.Refused{Problem: problem}}}
}

// TestOverloadedMember: a member that is overloaded is asked again, and the Client is served when it is not any more.
// If it refuses a request on a session that there is, the caller gets the error.
func TestOverloadedMember(t *testing.T) {
	t.Parallel()
	s := newStageUndialled(newFake(t))
	result := s.dial(s.address)
	s.accept().send(tooMuch(0))
	v := s.accept()
	v.welcome("a-1", testTTL)
	s.finish(result)
	a := s.begin("x")
	v.send(tooMuch(v.acquireOp("x")))
	if err := a.outcome().err; !errors.Is(err, holdfast.ErrLimit) || !strings.Contains(err.Error(), "member a is overloaded: try again in 1s") {
		t.Errorf("refused with %v", err)
	}
	s.hold(v, "x", 1)
}

// TestOverloadedFromTheStart: a Dial whose time ends while the member is overloaded says that, as a limit.
func TestOverloadedFromTheStart(t *testing.T) {
	const place = "a.example:4040"
	q := attemptLog{}
	q.end(api.Address{Network: "tcp", Place: place}, api.FromProblem("open", tooMuch(0).GetRefused().GetProblem()), false)
	err := q.unreachable("dial", context.DeadlineExceeded)
	if !errors.Is(err, holdfast.ErrLimit) || !errors.Is(err, holdfast.ErrUnavailable) || api.Code(err) != api.CodeLimit {
		t.Errorf("the error is %v, code %q", err, api.Code(err))
	}
	if want := place + ": member a is overloaded: try again in 1s"; !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %q, want %q", err, want)
	}
}
