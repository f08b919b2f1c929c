package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/api/snapshot"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/server"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
)

// serveKept serves a member whose default space lasts, in two shards, and which has another space that does not.
func serveKept(t *testing.T) *served {
	t.Helper()
	return serveAs(t, host.Config{Data: t.TempDir(), Limits: host.Limits{TTL: 2 * time.Minute}, Spaces: []host.Space{
		{Name: "default", Protocol: "consensus", Options: map[string]string{"shards": "2"}}, {Name: "jobs"},
	}}, server.Limits{})
}

// TestSnapshotIsOfTheWholeSpace: what is acknowledged when it is asked for is in it, of all shards.
func TestSnapshotIsOfTheWholeSpace(t *testing.T) {
	m := serveKept(t)
	held := 0
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		m.post(200, acquirePath, object{"name": name})
		held++
		var file bytes.Buffer
		noError(t, m.admin().Snapshot(m.patience, "", &file))
		read, err := snapshot.Read(&file)
		noError(t, err)
		if read.Holds != held || read.Shards != 2 || read.Space != "default" || read.Protocol != "consensus" || read.Member != "a" || time.Duration(read.TTL) != 2*time.Minute || read.Reign == 0 {
			t.Fatalf("with %d held it has %+v", held, read)
		}
		if since := time.Since(read.Saved.Time); since < 0 || since > 2*time.Minute {
			t.Errorf("it was saved %v ago", since)
		}
	}
}

func (m *served) admin() *client.Admin {
	m.t.Helper()
	admin, err := client.DialAdmin(m.grpc)
	noError(m.t, err)
	m.t.Cleanup(func() { noError(m.t, admin.Close()) })
	return admin
}

// TestSnapshotRefused: of a space that keeps nothing, and of one that there is not.
func TestSnapshotRefused(t *testing.T) {
	m := serveKept(t)
	var file bytes.Buffer
	if err := m.admin().Snapshot(m.patience, "jobs", &file); !errors.Is(err, holdfast.ErrUnsupported) || !strings.Contains(err.Error(), "protocol central keeps nothing") {
		t.Errorf("a space of protocol central: %v", err)
	}
	if err := m.admin().Snapshot(m.patience, "unknown", &file); !errors.Is(err, holdfast.ErrSpace) {
		t.Errorf("a space that there is not: %v", err)
	}
	broken := errors.New("the disk is full")
	if err := m.admin().Snapshot(m.patience, "", writer(func([]byte) (int, error) { return 0, broken })); !errors.Is(err, broken) {
		t.Errorf("a writer that fails got %v", err)
	}
	if file.Len() > 0 {
		t.Errorf("%d bytes were written of what was refused", file.Len())
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

// TestLimitOfSnapshots: one at a time, and when that has ended, or who asked has gone, the next.
func TestLimitOfSnapshots(t *testing.T) {
	parallel.SkipBrief(t)
	m := serveKept(t)
	// Enough that the answer does not fit what lies between the two programs unread.
	for i := range 40 {
		names := make([]string, 100)
		for j := range names {
			names[j] = fmt.Sprintf("%s/%d/%d", strings.Repeat("long", 100), i, j)
		}
		m.post(200, acquirePath, object{"names": names, "reason": strings.Repeat("because ", 20)})
	}
	admin := schema.NewAdminClient(m.dial(grpc.WithStaticStreamWindowSize(64 << 10)))
	ctx, cancel := context.WithCancel(m.patience)
	defer cancel()
	first, err := admin.Snapshot(ctx, &schema.SnapshotRequest{})
	noError(t, err)
	_, err = first.Recv() // the member is at it, and does not come to an end
	noError(t, err)
	second, err := admin.Snapshot(m.patience, &schema.SnapshotRequest{})
	noError(t, err)
	_, err = second.Recv()
	var limit *holdfast.LimitError
	if problem := api.FromStatus("", err); status.Code(err) != codes.ResourceExhausted || !asLimit(problem, &limit) || limit.Limit != "snapshots" || limit.Value != 1 {
		t.Errorf("a second one: %v", err)
	}
	if n := m.refused("snapshots"); n != 1 {
		t.Errorf("%v were counted", n)
	}
	cancel()
	m.until("the first has gone", func() bool {
		return m.admin().Snapshot(m.patience, "", io.Discard) == nil
	})
}
