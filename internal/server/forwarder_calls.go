package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/protocol"
)

// forwarderIn is forwarderAt for a space by its name.
func (s *service) forwarderIn(name string) *forwarder {
	space, err := s.space(name)
	if err != nil {
		return nil // the call says so
	}
	return s.forwarderAt(space)
}

// forwarderAt is the forwarder if a space's requests are to be passed on; nil where this member serves them itself.
func (s *service) forwarderAt(space *Space) *forwarder {
	if !space.described.Lasting || !s.forwarder.passesOn() {
		return nil
	}
	return s.forwarder
}

// forwarderOf is forwarderAt for a session: one that was not opened here is known to members that have a part.
func (s *service) forwarderOf(c credentials) *forwarder {
	if len(s.durable) == 0 || protocol.ID(c.id.Member) == s.me || !s.forwarder.passesOn() {
		return nil
	}
	return s.forwarder
}

// passOn makes a call anew at a member that has a part. The error is as this member's own would be.
func (o *forwarder) passOn(ctx context.Context, by caller, about about, op, method string, request, answer proto.Message) error {
	p, ctx, err := o.begin(ctx, by, about)
	if err != nil {
		return failed(op, "", "", err)
	}
	defer o.finish(p)
	if err := p.conn.Invoke(ctx, method, request, answer); err != nil {
		return api.FromStatus(op, o.broken(ctx, p, err))
	}
	return nil
}

// passOnDocument is passOn for a call that is answered with a document.
func passOnDocument[Document any](ctx context.Context, o *forwarder, op, method string, request proto.Message) (document Document, err error) {
	var answer schema.JSON
	if err := o.passOn(ctx, caller{}, about{}, op, method, request, &answer); err != nil {
		return document, err
	}
	return documentOf[Document](op, &answer)
}

func documentOf[Document any](op string, answer *schema.JSON) (document Document, err error) {
	if err := json.Unmarshal(answer.GetDocument(), &document); err != nil {
		return document, failed(op, "", "", fmt.Errorf("%w: another member's answer cannot be read: %w", holdfast.ErrUnavailable, err))
	}
	return document, nil
}

func (o *forwarder) acquire(ctx context.Context, in acquireInput) (all api.AcquiredAll, err error) {
	question := api.ToAcquireRequest(in.Attributes)
	question.Space, question.Names, question.Session, question.Request, question.Client = in.Space, in.Names, in.Session, in.Request, in.Client
	question.Wait, question.Ttl, question.Require = int64(in.Wait), int64(in.TTL), api.ToClass(in.Require)
	var answer schema.AcquireResponse
	err = o.passOn(ctx, in.Caller, about{in.Session, in.Request}, "acquire", schema.Locks_Acquire_FullMethodName, question, &answer)
	if err != nil {
		return all, err
	}
	all.Session = answer.GetSession()
	for _, one := range answer.GetLocks() {
		acquired, err := api.FromAcquired(one)
		if err != nil {
			return all, failed("acquire", in.Space, one.GetName(), err)
		}
		all.Locks = append(all.Locks, acquired)
	}
	return all, nil
}

// bounded is the context of a call that does not wait.
func (o *forwarder) bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(o.service.life, o.service.limits.LongPoll, errLongPoll)
}

func (o *forwarder) release(in releaseInput) (api.Released, error) {
	ctx, done := o.bounded()
	defer done()
	err := o.passOn(ctx, in.Caller, about{session: in.Session}, "release", schema.Locks_Release_FullMethodName, &schema.ReleaseRequest{
		Space: in.Space, Name: in.Name, Token: uint64(in.Token), Session: in.Session,
	}, &schema.ReleaseResponse{})
	if err != nil {
		return api.Released{}, err
	}
	return api.Released{Space: in.Space, Name: in.Name, Token: in.Token, Released: true}, nil
}

func (o *forwarder) renew(in renewInput) (api.Renewed, error) {
	ctx, done := o.bounded()
	defer done()
	var answer schema.RenewResponse
	err := o.passOn(ctx, in.Caller, about{session: in.Session}, "renew", schema.Locks_Renew_FullMethodName, &schema.RenewRequest{Session: in.Session, Ttl: int64(in.TTL)}, &answer)
	if err != nil {
		return api.Renewed{}, err
	}
	return api.Renewed{
		Session: answer.GetSession(), TTL: api.Duration(answer.GetTtl()), TTLCut: answer.GetTtlCut(), Until: api.AtNanoseconds(answer.GetUntil()),
	}, nil
}

func (o *forwarder) end(session string, by caller) (api.SessionReleased, error) {
	ctx, done := o.bounded()
	defer done()
	var answer schema.EndSessionResponse
	if err := o.passOn(ctx, by, about{session: session}, "end", schema.Locks_EndSession_FullMethodName, &schema.EndSessionRequest{Session: session}, &answer); err != nil {
		return api.SessionReleased{}, err
	}
	return documentOf[api.SessionReleased]("end", answer.GetReleased())
}

func (o *forwarder) list(ctx context.Context, in listInput) (all api.Locks, err error) {
	var answer schema.ListResponse
	err = o.passOn(ctx, caller{}, about{}, "list", schema.Locks_List_FullMethodName, &schema.ListRequest{
		Space: in.Space, Prefix: in.Prefix, After: in.After, Limit: int32(in.Limit), Stale: in.Stale,
	}, &answer)
	if err != nil {
		return all, err
	}
	all.Next = answer.GetNext()
	for _, document := range answer.GetLocks() {
		lock, err := documentOf[api.Lock]("list", document)
		if err != nil {
			return all, err
		}
		all.Locks = append(all.Locks, lock)
	}
	return all, nil
}

func (o *forwarder) show(space, name string, stale bool) (api.Lock, error) {
	ctx, done := o.bounded()
	defer done()
	return passOnDocument[api.Lock](ctx, o, "show", schema.Locks_Show_FullMethodName, &schema.ShowRequest{Space: space, Name: name, Stale: stale})
}

func (o *forwarder) breakLock(in breakInput) (api.Broken, error) {
	ctx, done := o.bounded()
	defer done()
	return passOnDocument[api.Broken](ctx, o, "break", schema.Locks_Break_FullMethodName, &schema.BreakRequest{
		Space: in.Space, Name: in.Name, Token: uint64(in.Token), Reason: in.Reason, By: in.By,
	})
}

// snapshot passes on a copy of a space as it comes, and keeps none of it.
func (o *forwarder) snapshot(ctx context.Context, by caller, space string, to pieces) error {
	p, ctx, err := o.begin(ctx, by, about{})
	if err != nil {
		return failed(opSnapshot, space, "", err)
	}
	defer o.finish(p)
	there, err := schema.NewAdminClient(p.conn).Snapshot(ctx, &schema.SnapshotRequest{Space: space})
	for err == nil {
		var piece *schema.SnapshotPiece
		if piece, err = there.Recv(); err != nil {
			break
		}
		if err := to.to.Send(piece); err != nil {
			return err
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return api.FromStatus(opSnapshot, o.broken(ctx, p, err))
}

// status is how a space is, as a member says that has a part in it.
func (o *forwarder) status(space string) (api.Space, error) {
	ctx, done := context.WithTimeout(o.service.life, insiderLimit)
	defer done()
	all, err := passOnDocument[api.Status](ctx, o, "status", schema.Locks_Status_FullMethodName, &schema.StatusRequest{})
	if err != nil {
		return api.Space{}, err
	}
	for _, document := range all.Spaces {
		if document.Name == space {
			return document, nil
		}
	}
	return api.Space{}, failed("status", space, "", fmt.Errorf("%w: member %s does not have it", holdfast.ErrUnavailable, all.Member.Name))
}

// unready says why a space cannot grant; "" where it can, as a member says that has a part in it.
func (o *forwarder) unready(space string) string {
	switch document, err := o.status(space); {
	case err != nil:
		return fmt.Sprintf("%s: %v", space, err)
	case document.State == protocol.Ready.String():
		return ""
	case document.Why == "":
		return space + ": " + document.State
	default:
		return space + ": " + document.State + ": " + document.Why
	}
}
