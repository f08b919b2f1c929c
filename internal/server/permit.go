package server

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/access"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/audit"
)

// Words in the schema for calls that take no right.
const (
	bySession = "session" // the secret of the session decides
	byAnyone  = "anyone"
)

// right is the right that a call takes, from the schema.
type right struct {
	call  string // Acquire, Break, …
	verb  access.Verb
	free  bool // it takes none
	feed  bool // its caller ends it
	some  bool // for any name
	space protoreflect.FieldDescriptor
	name  protoreflect.FieldDescriptor // nil if the call is not about names
	names protoreflect.FieldDescriptor
}

// operates reports whether it is an operator's call.
func (r *right) operates() bool {
	return !r.free && (r.verb == access.Break || r.verb == access.Operate || r.verb == access.Admin)
}

// changes reports whether an operator's call changes something: the others only show.
func (r *right) changes() bool {
	switch {
	case strings.HasPrefix(r.call, "List"), strings.HasPrefix(r.call, "Watch"), r.call == "PlanForce":
		return false
	}
	return r.operates()
}

// rightsOf returns the right that each call of clients takes, by the call's full name. A call without one is an error.
func rightsOf() (map[string]*right, error) {
	all := map[string]*right{}
	for _, service := range []protoreflect.ServiceDescriptor{
		schema.File_holdfast_proto.Services().ByName("Sessions"),
		schema.File_locks_proto.Services().ByName("Locks"),
		schema.File_admin_proto.Services().ByName("Admin"),
	} {
		for i := range service.Methods().Len() {
			method := service.Methods().Get(i)
			r, err := rightOf(method)
			if err != nil {
				return nil, fmt.Errorf("server: call %s: %w", method.FullName(), err)
			}
			all[fmt.Sprintf("/%s/%s", service.FullName(), method.Name())] = r
		}
	}
	return all, nil
}

func rightOf(method protoreflect.MethodDescriptor) (*right, error) {
	call, _ := proto.GetExtension(method.Options(), schema.E_Call).(*schema.Call)
	fields := method.Input().Fields()
	r := &right{
		call: string(method.Name()), some: call.GetSome(), feed: call.GetEvents(),
		space: fields.ByName("space"), name: fields.ByName("name"), names: fields.ByName("names"),
	}
	if r.space == nil { // the name of something else, such as a token
		r.name, r.names = nil, nil
	}
	switch word := call.GetVerb(); word {
	case "":
		return nil, fmt.Errorf("the schema does not say which right it takes")
	case bySession, byAnyone:
		r.free = true
	default:
		var err error
		if r.verb, err = access.ParseVerb(word); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// target returns what a request is about: its space, "" if it has none, and its names.
func (r *right) target(request proto.Message) (space string, names []string) {
	m := request.ProtoReflect()
	if r.space == nil {
		return "", nil
	}
	if space = m.Get(r.space).String(); space == "" {
		space = holdfast.DefaultSpace
	}
	if r.name != nil && m.Has(r.name) {
		names = append(names, m.Get(r.name).String())
	}
	if r.names != nil {
		for i, list := 0, m.Get(r.names).List(); i < list.Len(); i++ {
			names = append(names, list.Get(i).String())
		}
	}
	return space, names
}

// permit returns why a caller may not make a call; nil if it may. The error is denied or, for a caller that has sent no
// credentials, unauthenticated.
func (s *service) permit(v caller, r *right, request proto.Message) error {
	if r.free {
		return nil
	}
	rights := s.guard.Policy().Rights(v.subject)
	space, names := r.target(request)
	switch {
	case r.some && space == "":
		if rights.Some(r.verb) {
			return nil
		}
	case r.some:
		if rights.SomeIn(r.verb, space) {
			return nil
		}
	case r.space == nil:
		if rights.Everything(r.verb) {
			return nil
		}
	case r.name == nil:
		if rights.Whole(r.verb, space) {
			return nil
		}
	default:
		for _, name := range names {
			if name != "" && !rights.May(r.verb, space, name) {
				return failed(strings.ToLower(r.call), space, printable(name), s.denied(v, r, space, name))
			}
		}
		return nil // without a name, or with an empty one, the call refuses it
	}
	return failed(strings.ToLower(r.call), space, "", s.denied(v, r, space, ""))
}

// printable shortens a name that was not checked yet, for errors and logs.
func printable(name string) string {
	return strings.ToValidUTF8(name[:min(len(name), holdfast.MaxName)], "\uFFFD")
}

// denied refuses a call, counts the refusal, and adds it to the audit log.
func (s *service) denied(v caller, r *right, space, name string) error {
	code := api.CodeDenied
	if v.subject.Name == access.Anonymous {
		code = api.CodeUnauthenticated
	}
	name = printable(name)
	why := s.why(v, r, space, name)
	s.observer.denied.WithLabelValues(r.verb.String()).Inc()
	s.guard.Audit().Add(audit.Entry{
		Event: audit.Denied, Subject: v.subject.Name, Address: v.address, Call: r.call, Verb: r.verb.String(),
		Space: space, Name: name, Result: code, Detail: why,
	})
	return api.Fail(code, "denied: "+why)
}

// explained is how many denials a second are explained in full. It takes a search of all roles of the policy, which a
// flood of denials must not cost.
const explained = 100

// why returns why a caller is denied, as a sentence.
func (s *service) why(v caller, r *right, space, name string) string {
	if !s.explains.Allow() {
		return fmt.Sprintf("%s lacks the verb %v for that", v.subject.Name, r.verb)
	}
	policy := s.guard.Policy()
	if r.some && name == "" {
		return policy.ExplainSome(v.subject, r.verb, space).String()
	}
	return policy.Explain(v.subject, r.verb, space, name).String()
}

// guarded makes a call if its caller may, and adds an operator's call to the audit log. Calls of both ports go through it
// or through guardedStream.
func (s *service) guarded(ctx context.Context, method string, request proto.Message, call func() error) error {
	r, v := s.rights[method], callerOf(ctx)
	if err := s.enter(v, r, request); err != nil {
		return err
	}
	err := call()
	s.record(v, r, request, err)
	return err
}

// guardedStream is guarded for a call of one request and many answers, which the handler receives itself.
func (s *service) guardedStream(method string, stream grpc.ServerStream, call func(grpc.ServerStream) error) error {
	r, v := s.rights[method], callerOf(stream.Context())
	checked := &checkedStream{ServerStream: stream, enter: func(request proto.Message) error { return s.enter(v, r, request) }}
	err := call(checked)
	if checked.request != nil {
		recorded := err
		if r.feed && stream.Context().Err() != nil {
			recorded = nil
		}
		s.record(v, r, checked.request, recorded)
	}
	return err
}

// checkedStream checks the request that is received through it.
type checkedStream struct {
	grpc.ServerStream
	enter   func(request proto.Message) error
	request proto.Message // once it was permitted
}

// RecvMsg receives the request.
func (c *checkedStream) RecvMsg(into any) error {
	if err := c.ServerStream.RecvMsg(into); err != nil {
		return err
	}
	request := into.(proto.Message)
	if err := c.enter(request); err != nil {
		return err
	}
	c.request = request
	return nil
}

// enter returns why a call is not made: its caller may not, or the audit log cannot take it.
func (s *service) enter(v caller, r *right, request proto.Message) error {
	if err := s.permit(v, r, request); err != nil || !r.operates() {
		return err
	}
	if r.changes() { // so that nothing is changed without a line, also where this member ends before its answer
		s.guard.Audit().Add(entryOf(v, r, request, audit.Begun))
	}
	if err := s.guard.MayOperate(); err != nil {
		return failed(strings.ToLower(r.call), "", "", &holdfast.UnavailableError{
			Why: err.Error() + "; operators' calls are refused until it can, unless audit_optional is true",
		})
	}
	return nil
}

// record adds an operator's call that was made to the audit log.
func (s *service) record(v caller, r *right, request proto.Message, err error) {
	if !r.operates() {
		return
	}
	entry := entryOf(v, r, request, audit.Called)
	entry.Result = resultOK
	if err != nil {
		failure := api.FromStatus("", err)
		entry.Result, entry.Detail = api.Code(failure), failure.Error()
	}
	s.guard.Audit().Add(entry)
}

// entryOf returns what the entries about a call have in common.
func entryOf(v caller, r *right, request proto.Message, event string) audit.Entry {
	entry := audit.Entry{Event: event, Subject: v.subject.Name, Address: v.address, Call: r.call, Verb: r.verb.String()}
	var names []string
	entry.Space, names = r.target(request)
	entry.Name = printable(strings.Join(names, " "))
	if reasoned, is := request.(interface{ GetReason() string }); is {
		entry.Reason = reasoned.GetReason()
	}
	if fenced, is := request.(interface{ GetToken() uint64 }); is {
		entry.Token = fenced.GetToken()
	}
	if named, is := request.(interface{ GetName() string }); is && r.space == nil { // a token
		entry.Name = printable(named.GetName())
	}
	switch about := request.(type) {
	case interface{ GetMember() string }:
		entry.Detail = "member " + printable(about.GetMember())
	case *schema.TerminateSessionRequest:
		entry.Detail = "session " + printable(about.GetSession())
	}
	return entry
}

// permit implements edge.Permit for the caller of a stream. It keeps the rights for as long as the policy is the same.
type streamPermit struct {
	service *service
	caller  caller
	kept    atomic.Pointer[keptRights]
}

type keptRights struct {
	policy *access.Policy
	rights *access.Rights
}

func (p *streamPermit) rights() *access.Rights {
	policy := p.service.guard.Policy()
	if kept := p.kept.Load(); kept != nil && kept.policy == policy {
		return kept.rights
	}
	kept := &keptRights{policy, policy.Rights(p.caller.subject)}
	p.kept.Store(kept)
	return kept.rights
}

// Begin returns why the caller may open no session.
func (p *streamPermit) Begin() error {
	if p.rights().Some(access.Lock) {
		return nil
	}
	return p.service.denied(p.caller, p.service.rights[schema.Sessions_Open_FullMethodName], "", "")
}

// Lock returns why the caller may not lock a name.
func (p *streamPermit) Lock(space, name string) error {
	if p.rights().May(access.Lock, space, name) {
		return nil
	}
	return p.service.denied(p.caller, p.service.rights[schema.Sessions_Open_FullMethodName], space, name)
}

// Reads reports whether the caller may know who holds a name.
func (p *streamPermit) Reads(space, name string) bool {
	return p.rights().May(access.Read, space, name)
}
