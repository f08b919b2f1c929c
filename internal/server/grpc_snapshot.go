package server

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/api/snapshot"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/protocol"
)

// opSnapshot names the operation in errors and metrics.
const opSnapshot = "snapshot"

// snapshotsAtOnce is the maximum number of snapshots sent at a time: each keeps the state of one shard in memory.
const snapshotsAtOnce = 1

// Snapshot sends a copy of a space.
func (s *service) Snapshot(r *schema.SnapshotRequest, stream grpc.ServerStreamingServer[schema.SnapshotPiece]) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	if err := s.admit(callerOf(ctx), 1, 0, s.now()); err != nil {
		return err
	}
	err := s.snapshot(ctx, r.GetSpace(), callerOf(ctx), pieces{stream})
	switch {
	case err == nil:
		return nil
	case stream.Context().Err() != nil:
		return status.FromContextError(stream.Context().Err()).Err()
	case ctx.Err() != nil:
		return status.Error(codes.Unavailable, "this member is leaving")
	}
	s.countRefusal(err)
	return err
}

// pieces is a writer that sends the written data.
type pieces struct {
	to grpc.ServerStreamingServer[schema.SnapshotPiece]
}

// Write sends b, and does not retain it.
func (p pieces) Write(b []byte) (int, error) {
	if err := p.to.Send(&schema.SnapshotPiece{Data: slices.Clone(b)}); err != nil {
		return 0, err
	}
	return len(b), nil
}

// snapshot writes a copy of a space, shard by shard, each at least as new as this call.
func (s *service) snapshot(ctx context.Context, name string, by caller, to pieces) (err error) {
	space, err := s.space(name)
	if err != nil {
		return failed(opSnapshot, "", "", err)
	}
	defer func() { s.observer.operation(space.Name, opSnapshot, err) }()
	if !space.described.Lasting {
		return failed(opSnapshot, space.Name, "", api.Fail(api.CodeUnsupported,
			fmt.Sprintf("protocol %s keeps nothing that outlasts its members, so there is nothing to save; that is for spaces of protocol consensus", space.Protocol)))
	}
	if out := s.forwarderAt(space); out != nil {
		return out.snapshot(ctx, by, space.Name, to)
	}
	if s.snapshots.Add(1) > snapshotsAtOnce {
		s.snapshots.Add(-1)
		return failed(opSnapshot, space.Name, "", &holdfast.LimitError{Limit: "snapshots", Value: snapshotsAtOnce})
	}
	defer s.snapshots.Add(-1)
	written, err := s.writeSnapshot(ctx, space, to)
	if err != nil {
		return failed(opSnapshot, space.Name, "", err)
	}
	s.logger.Info("a snapshot of a space was sent", "space", space.Name, "by", by.called(""), "shards", written.Shards, "sessions", written.Sessions, "holds", written.Holds)
	return nil
}

// writeSnapshot keeps one shard at a time in memory.
func (s *service) writeSnapshot(ctx context.Context, space *Space, to pieces) (*snapshot.Summary, error) {
	identity := s.identity()
	counted, err := query[*session.Counted](s, protocol.Below, &session.Count{})
	if err != nil {
		return nil, err
	}
	summary := &snapshot.Summary{Header: snapshot.Header{
		Cluster: identity.Cluster, Space: space.Name, Protocol: space.Protocol, Saved: api.At(time.Now().UTC()),
		TTL: api.Duration(counted.LongestTTL), Member: identity.Member.GetName(), Version: identity.Version,
	}}
	var w *snapshot.Writer
	for shard := 0; w == nil || shard < summary.Shards; shard++ {
		copied, err := s.copyShard(ctx, space, shard)
		if err != nil {
			return nil, err
		}
		if w == nil {
			summary.Shards = copied.Shards
			if w, err = snapshot.NewWriter(to, &summary.Header); err != nil {
				return nil, err
			}
		}
		summary.Sessions, summary.Holds = summary.Sessions+copied.Sessions, summary.Holds+copied.Holds
		err = w.Shard(&snapshot.Shard{
			Shard: shard, Reign: copied.Reign, Sessions: copied.Sessions, Holds: copied.Holds, Waiters: copied.Waiters, Parts: len(copied.Parts),
		})
		for i := 0; err == nil && i < len(copied.Parts); i++ {
			err = w.Part(copied.Parts[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return summary, w.End()
}

// copyShard asks for the state of a shard, at least as new as this call.
func (s *service) copyShard(ctx context.Context, space *Space, shard int) (*protocol.Copied, error) {
	question := &protocol.Copy{Shard: shard}
	reply, err := s.driver.Do(ctx, space.Port, question)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", holdfast.ErrUnavailable, err)
	}
	return run.AnswerTo[*protocol.Copied](question, reply)
}
