package client

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// opSnapshot is the name of the call in errors.
const opSnapshot = "snapshot"

// Snapshot streams a copy of a space of protocol consensus, as new as the call, to a writer; "" means the space of
// option Space. If the error is nil, the output is a complete file that `holdfast snapshot restore` reads; otherwise
// discard it. The error is an ErrUnsupported if the space has another protocol, and a *LimitError while the member
// sends a snapshot to another caller.
func (a *Admin) Snapshot(ctx context.Context, space string, to io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	question := &schema.SnapshotRequest{Space: a.space(space)}
	_, err := reach(ctx, a, opSnapshot, false, func(conn *grpc.ClientConn) (*struct{}, error) {
		pieces, err := schema.NewAdminClient(conn).Snapshot(ctx, question)
		if err != nil {
			return nil, err
		}
		return nil, copyPieces(pieces, to)
	})
	return err
}

// copyPieces writes the pieces in order. If a member becomes unreachable, the next address is tried only while no piece
// has arrived.
func copyPieces(pieces grpc.ServerStreamingClient[schema.SnapshotPiece], to io.Writer) error {
	for sum := 0; ; {
		piece, err := pieces.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && sum > 0 && unreached(err):
			return fmt.Errorf("%w: the member's answer has ended after %d bytes: %s", holdfast.ErrUnavailable, sum, status.Convert(err).Message())
		case err != nil:
			return err
		}
		written, err := to.Write(piece.GetData())
		if err != nil {
			return err
		}
		sum += written
	}
}
