package server

import (
	"context"
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
		return nil // the call reports it
	}
	return s.forwarderAt(space)
}

// forwarderAt returns the forwarder if a space's requests are to be passed on; nil if this member serves them itself.
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

// passOn makes a call again at a member that has a part, and returns its answer. The error has the same form as this
// member's own.
func passOn[A proto.Message](ctx context.Context, o *forwarder, about about, op, method string, request proto.Message, answer A) (A, error) {
	var none A
	p, ctx, err := o.begin(ctx, callerOf(ctx), about)
	if err != nil {
		return none, failed(op, "", "", err)
	}
	defer o.finish(p)
	if err := p.conn.Invoke(ctx, method, request, answer); err != nil {
		return none, api.FromStatus(op, o.broken(ctx, p, err))
	}
	return answer, nil
}

// passOnBriefly is passOn for a call that does not wait: it continues when its client has gone.
func passOnBriefly[A proto.Message](ctx context.Context, o *forwarder, about about, op, method string, request proto.Message, answer A) (A, error) {
	ctx, done := context.WithTimeoutCause(context.WithoutCancel(ctx), o.service.limits.LongPoll, errLongPoll)
	defer done()
	return passOn(ctx, o, about, op, method, request, answer)
}

func (o *forwarder) acquire(ctx context.Context, in acquireInput) (*schema.AcquiredAll, error) {
	all, err := passOn(ctx, o, about{in.Session, in.Request}, "acquire", schema.Locks_Acquire_FullMethodName, in.message, &schema.AcquiredAll{})
	for _, one := range all.GetLocks() {
		one.ExpiresIn = o.service.expiresIn(one.GetTtl().AsDuration(), in.Arrived)
	}
	return all, err
}

func (o *forwarder) renew(ctx context.Context, r *schema.RenewRequest, arrived protocol.Time) (*schema.Renewed, error) {
	renewed, err := passOnBriefly(ctx, o, about{session: r.GetSession()}, "renew", schema.Locks_Renew_FullMethodName, r, &schema.Renewed{})
	if err != nil {
		return nil, err
	}
	renewed.ExpiresIn = o.service.expiresIn(renewed.GetTtl().AsDuration(), arrived)
	return renewed, nil
}

// snapshot forwards a copy of a space as it arrives, without keeping any of it.
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

// status returns the state of a space, from a member that has a part in it.
func (o *forwarder) status(space string) (*schema.Space, error) {
	ctx, done := context.WithTimeout(o.service.life, insiderLimit)
	defer done()
	all, err := passOn(ctx, o, about{}, "status", schema.Locks_Status_FullMethodName, &schema.StatusRequest{}, &schema.Status{})
	if err != nil {
		return nil, err
	}
	for _, document := range all.GetSpaces() {
		if document.GetName() == space {
			return document, nil
		}
	}
	return nil, failed("status", space, "", fmt.Errorf("%w: member %s does not have it", holdfast.ErrUnavailable, all.GetMember().GetName()))
}

// unready returns why a space cannot grant, from a member that has a part in it; "" if it can.
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
