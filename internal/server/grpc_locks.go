package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/server/events"
)

// grpcLocks is what can be asked in one go, over gRPC: the service's methods with
// the documents of the HTTP API. An error is a status whose details hold the
// problem.
type grpcLocks struct {
	schema.UnimplementedLocksServer
	service *service
	ending  context.Context
}

// Acquire takes one name or several, all or none. The end of the call cancels it.
func (l *grpcLocks) Acquire(ctx context.Context, r *schema.AcquireRequest) (*schema.AcquireResponse, error) {
	arrived := l.service.now()
	attributes, err := api.FromAttributes(r)
	if err != nil {
		return nil, api.ToStatus(failed("acquire", r.GetSpace(), "", err))
	}
	class, err := api.FromClass(r.GetRequire())
	if err != nil {
		return nil, api.ToStatus(failed("acquire", r.GetSpace(), "", err))
	}
	acquired, err := l.service.acquire(ctx, acquireInput{
		Space: r.GetSpace(), Names: r.GetNames(), Attributes: attributes,
		Wait: time.Duration(r.GetWait()), TTL: time.Duration(r.GetTtl()), Session: r.GetSession(), Require: class,
		Request: r.GetRequest(), Client: callerOf(ctx).called(r.GetClient()), Caller: callerOf(ctx), Arrived: arrived,
	})
	if err != nil {
		return nil, api.ToStatus(err)
	}
	answer := &schema.AcquireResponse{Session: acquired.Session}
	for _, a := range acquired.Locks {
		answer.Locks = append(answer.Locks, api.ToAcquired(a))
	}
	return answer, nil
}

// Release gives up a grant.
func (l *grpcLocks) Release(ctx context.Context, r *schema.ReleaseRequest) (*schema.ReleaseResponse, error) {
	_, err := l.service.release(releaseInput{
		Space: r.GetSpace(), Name: r.GetName(), Token: holdfast.Token(r.GetToken()), Session: r.GetSession(), Caller: callerOf(ctx),
	})
	if err != nil {
		return nil, api.ToStatus(err)
	}
	return &schema.ReleaseResponse{}, nil
}

// Renew lets a session live on.
func (l *grpcLocks) Renew(ctx context.Context, r *schema.RenewRequest) (*schema.RenewResponse, error) {
	renewed, err := l.service.renew(renewInput{
		Session: r.GetSession(), TTL: time.Duration(r.GetTtl()), Caller: callerOf(ctx), Arrived: l.service.now(),
	})
	if err != nil {
		return nil, api.ToStatus(err)
	}
	return &schema.RenewResponse{Session: renewed.Session, Ttl: int64(renewed.TTL), TtlCut: renewed.TTLCut, Until: renewed.Until.Nanoseconds()}, nil
}

// EndSession ends a session and tells what it held.
func (l *grpcLocks) EndSession(ctx context.Context, r *schema.EndSessionRequest) (*schema.EndSessionResponse, error) {
	released, err := l.service.end(r.GetSession(), callerOf(ctx))
	if err != nil {
		return nil, api.ToStatus(err)
	}
	document, err := toJSON(released)
	if err != nil {
		return nil, err
	}
	return &schema.EndSessionResponse{Released: document}, nil
}

// List returns a page of a space's live names.
func (l *grpcLocks) List(ctx context.Context, r *schema.ListRequest) (*schema.ListResponse, error) {
	listed, err := l.service.list(ctx, listInput{Space: r.GetSpace(), Prefix: r.GetPrefix(), After: r.GetAfter(), Limit: int(r.GetLimit()), Stale: r.GetStale()})
	if err != nil {
		return nil, api.ToStatus(err)
	}
	answer := &schema.ListResponse{Next: listed.Next, Locks: make([]*schema.JSON, len(listed.Locks))}
	documents, text := make([]schema.JSON, len(listed.Locks)), []byte(nil)
	for i := range listed.Locks {
		begin := len(text)
		if i == 1 {
			text = slices.Grow(text, len(listed.Locks)*begin) // most are as long as the first
		}
		text = listed.Locks[i].AppendJSON(text)
		answer.Locks[i], documents[i].Document = &documents[i], text[begin:len(text):len(text)]
	}
	return answer, nil
}

// Show returns one name in full.
func (l *grpcLocks) Show(_ context.Context, r *schema.ShowRequest) (*schema.JSON, error) {
	return answerJSON(l.service.show(r.GetSpace(), r.GetName(), r.GetStale()))
}

// Break takes a name from its holders.
func (l *grpcLocks) Break(ctx context.Context, r *schema.BreakRequest) (*schema.JSON, error) {
	return answerJSON(l.service.breakLock(breakInput{
		Space: r.GetSpace(), Name: r.GetName(), Token: holdfast.Token(r.GetToken()), Reason: r.GetReason(), By: callerOf(ctx).called(r.GetBy()),
	}))
}

// Status returns this member's view of the cluster and of its spaces.
func (l *grpcLocks) Status(context.Context, *schema.StatusRequest) (*schema.JSON, error) {
	return answerJSON(l.service.status())
}

// Watch sends what happens in a space, or in all, as it happens. Its header says
// that nothing is missed from now on without being told.
func (l *grpcLocks) Watch(r *schema.WatchRequest, stream grpc.ServerStreamingServer[schema.JSON]) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	defer context.AfterFunc(l.ending, cancel)()
	feed, err := l.service.watch(ctx, r.GetSpace(), r.GetPrefix())
	switch {
	case err != nil && ctx.Err() != nil:
		return l.watchEnd(stream.Context(), err)
	case err != nil:
		return api.ToStatus(err)
	}
	defer feed.Close()
	if err := stream.SendHeader(metadata.MD{}); err != nil {
		return err
	}
	turn := &feedTurn{pace: l.service.feeds}
	for {
		happened, err := feed.Next(ctx)
		if err != nil {
			return l.watchEnd(stream.Context(), err)
		}
		if err := sendEvents(ctx, stream, turn, happened); err != nil {
			return err
		}
	}
}

// sendEvents sends what has happened.
func sendEvents(ctx context.Context, stream grpc.ServerStreamingServer[schema.JSON], turn *feedTurn, happened []*events.Batch) error {
	var documents [][]byte
	for _, batch := range happened {
		for _, item := range batch.Items {
			document, err := item.Document(eventDocument)
			if err != nil {
				return api.ToStatus(err)
			}
			documents = append(documents, document)
		}
	}
	turn.wait(ctx, documents...)
	for _, document := range documents {
		if err := stream.Send(&schema.JSON{Document: document}); err != nil {
			return err
		}
	}
	return nil
}

// watchEnd says why a watch ends: its reader has gone or was too slow, or the member
// is leaving.
func (l *grpcLocks) watchEnd(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Err()
	case errors.Is(err, events.ErrSlow):
		l.service.observer.refused(unreadEvents)
		return api.ToStatus(err)
	default:
		return status.Error(codes.Unavailable, "this member is leaving")
	}
}

// answerJSON makes the answer of a call whose answer is a document.
func answerJSON[T any](document T, err error) (*schema.JSON, error) {
	if err != nil {
		return nil, api.ToStatus(err)
	}
	return toJSON(document)
}

// toJSON encodes a document of the HTTP API.
func toJSON(document any) (*schema.JSON, error) {
	text, err := json.Marshal(document)
	if err != nil {
		return nil, api.ToStatus(fmt.Errorf("encode %T: %w", document, err))
	}
	return &schema.JSON{Document: text}, nil
}
