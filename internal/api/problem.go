package api

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// Failure is an error with a code, and a sentence that may have more detail than the root package's error that it
// stands for, if any. Servers make one for faults that exist only on the network: a malformed body, an unknown path or
// session.
type Failure struct {
	Code   string
	Detail string // the sentence; "" means the title of the code
	Err    error  // the Go error; nil means that of the table
}

// Fail makes a Failure.
func Fail(code, detail string) error { return &Failure{Code: code, Detail: detail} }

// BadRequest gives an error without a code the code bad_request.
func BadRequest(err error) error {
	if Code(err) == CodeInternal {
		return Fail(CodeBadRequest, err.Error())
	}
	return err
}

func (f *Failure) Error() string {
	if f.Detail == "" {
		return strings.ToLower(Title(f.Code))
	}
	return f.Detail
}

// Unwrap returns the Go error, from the table unless Err is set; nil if there is none.
func (f *Failure) Unwrap() error {
	if f.Err != nil {
		return f.Err
	}
	if r := find(f.Code); r.code == f.Code {
		return r.err
	}
	return nil
}

// ToProblem converts an error for the other side; nil for nil. Space and name come from the outermost
// [*holdfast.Error], whose operation is left out: the caller knows it.
//
// A context's error becomes unavailable: the caller has noticed its own end, so the news is that the server gave up. So
// does ErrClosed, because the server's side closed. An error that is not in the table is internal.
func ToProblem(err error) *schema.Problem {
	if err == nil {
		return nil
	}
	p := &schema.Problem{}
	if wrapped, is := errors.AsType[*holdfast.Error](err); is {
		p.Space, p.Name, err = wrapped.Space, wrapped.Name, wrapped.Err
	}
	if err == nil {
		err = Fail(CodeInternal, "")
	}
	p.Code, p.Detail = codeOf(err), clean(err.Error())
	switch p.Code {
	case CodeHeld:
		if held, is := errors.AsType[*holdfast.HeldError](err); is {
			p.Owner, p.Member, p.Others = held.Owner, held.Member, int32(held.Others)
			p.Since = At(held.Since).Nanoseconds()
			p.Suspended, p.Reason = held.Suspended, held.Reason
			p.Gone, p.Grace, p.Until = held.Gone, held.Grace, int64(held.Until)
		}
	case CodeUnavailable:
		if unavailable, is := errors.AsType[*holdfast.UnavailableError](err); is {
			p.Why, p.Until = clean(unavailable.Why), int64(unavailable.Until)
		}
	case CodeLimit:
		if limit, is := errors.AsType[*holdfast.LimitError](err); is {
			p.Limit, p.Value = limit.Limit, limit.Value
		}
	case CodeDeadlock:
		if deadlock, is := errors.AsType[*holdfast.DeadlockError](err); is {
			p.Cycle, p.More = toCycle(deadlock.Cycle), int32(deadlock.More)
		}
	case CodeLost, CodeUnknownSession:
		p.Why = string(holdfast.Why(err))
	}
	return p
}

// clean makes a text valid UTF-8, as the schema requires.
func clean(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// Code returns the code of an error; "" for nil.
func Code(err error) string {
	if err == nil {
		return ""
	}
	return codeOf(err)
}

func codeOf(err error) string {
	if failure, is := errors.AsType[*Failure](err); is {
		return failure.Code
	}
	for _, r := range table {
		if r.err != nil && errors.Is(err, r.err) {
			return r.code
		}
	}
	for _, ended := range []error{holdfast.ErrClosed, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, ended) {
			return CodeUnavailable
		}
	}
	return CodeInternal
}

// FromProblem restores the error that the other side sent: a [*holdfast.Error] of the caller's operation, nil for nil.
// It wraps the Go error of the code, with the other side's sentence; a time of day in it is converted to the local
// zone. An unknown code (the other side is newer) becomes an error with the sentence that is none of the root
// package's.
func FromProblem(op string, p *schema.Problem) error {
	if p == nil {
		return nil
	}
	return &holdfast.Error{Op: op, Space: p.GetSpace(), Name: p.GetName(), Err: meaning(p)}
}

// meaning returns the wrapped error.
func meaning(p *schema.Problem) error {
	err := typed(p)
	if err != nil && (p.GetDetail() == "" || sameSentence(err.Error(), p.GetDetail())) {
		return err
	}
	if p.GetCode() == CodeUnknownSession && p.GetWhy() == string(holdfast.EndedByAnother) {
		err = holdfast.EndedByAnother // rather than an expiry
	}
	return &Failure{Code: p.GetCode(), Detail: p.GetDetail(), Err: err}
}

// typed returns the root package's error with the problem's details, or nil. Codes that share an error with another
// stay a Failure, so that they are not passed on under the other's code.
func typed(p *schema.Problem) error {
	switch p.GetCode() {
	case CodeHeld:
		if p.GetOwner() == "" && p.GetMember() == "" && p.GetSince() == 0 && p.GetOthers() == 0 && !p.GetSuspended() {
			return holdfast.ErrHeld
		}
		held := &holdfast.HeldError{Owner: p.GetOwner(), Member: p.GetMember(), Others: int(p.GetOthers()), Suspended: p.GetSuspended(), Reason: p.GetReason()}
		held.Gone, held.Grace, held.Until = p.GetGone(), p.GetGrace(), time.Duration(p.GetUntil())
		if p.GetSince() != 0 {
			held.Since = time.Unix(0, p.GetSince())
		}
		return held
	case CodeUnavailable:
		if p.GetWhy() != "" || p.GetUntil() != 0 {
			return &holdfast.UnavailableError{Why: p.GetWhy(), Until: time.Duration(p.GetUntil())}
		}
	case CodeLimit:
		if p.GetLimit() != "" {
			return &holdfast.LimitError{Limit: p.GetLimit(), Value: p.GetValue()}
		}
	case CodeDeadlock:
		if len(p.GetCycle()) > 0 {
			return &holdfast.DeadlockError{Cycle: fromCycle(p.GetCycle()), More: int(p.GetMore())}
		}
	case CodeLost:
		if p.GetWhy() != "" {
			return holdfast.Loss(p.GetWhy())
		}
	case CodeUnauthenticated, CodeUnknownSession:
		return nil
	}
	if r := find(p.GetCode()); r.code == p.GetCode() {
		return r.err
	}
	return nil
}

// timed matches a time of day in a sentence about a holder.
var timed = regexp.MustCompile(` since \d\d:\d\d:\d\d`)

// sameSentence compares two sentences, ignoring times of day, which depend on the zone.
func sameSentence(one, two string) bool {
	return one == two || strings.Contains(one, " since ") && timed.ReplaceAllString(one, "") == timed.ReplaceAllString(two, "")
}

// NewProblem makes the document of an error. Its detail is the whole sentence, with the operation if a
// [*holdfast.Error] names it.
func NewProblem(err error) *schema.ProblemDocument {
	p := ToProblem(err)
	document := &schema.ProblemDocument{
		Type: "about:blank", Title: Title(p.GetCode()), Status: int32(HTTPStatus(p.GetCode())),
		Detail: p.GetDetail(), Code: p.GetCode(), Space: p.GetSpace(), Name: p.GetName(),
		Why: p.GetWhy(), Limit: p.GetLimit(), Value: p.GetValue(),
		Owner: p.GetOwner(), Member: p.GetMember(), Since: Stamp(AtNanoseconds(p.GetSince()).Time), Others: p.GetOthers(),
		Gone: p.GetGone(), Grace: p.GetGrace(), Cycle: p.GetCycle(), More: p.GetMore(),
	}
	if p.GetUntil() != 0 {
		document.Until = Span(time.Duration(p.GetUntil()))
	}
	var wrapped *holdfast.Error
	if errors.As(err, &wrapped) && wrapped.Err != nil {
		document.Detail = clean(wrapped.Error())
	}
	return document
}
