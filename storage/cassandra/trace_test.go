package cassandra

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/holdfast-locks/holdfast/storage"
)

// passing are the words by which a trace tells what a read has passed over.
var passing = regexp.MustCompile(`Read \d+ live rows and (\d+) tombstone cells`)

// traces keeps the ids of traces.
type traces struct {
	mu  sync.Mutex
	ids [][]byte
}

func (l *traces) Trace(id []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ids = append(l.ids, id)
}

// tombstones asks the server how many of them a read of these bounds has passed over.
func tombstones(t *testing.T, s *Store, r *storage.Slice) int {
	t.Helper()
	kept := &traces{}
	statement, values := s.selection(r)
	if err := s.session.Query(statement, values...).Trace(kept).ExecContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(kept.ids) != 1 {
		t.Fatalf("%d traces of one read", len(kept.ids))
	}
	// The server writes a trace down after it has answered.
	for {
		var activities []string
		events := s.session.Query("SELECT activity FROM system_traces.events WHERE session_id = ?", kept.ids[0]).Consistency(gocql.One).IterContext(t.Context())
		for activity := ""; events.Scan(&activity); {
			activities = append(activities, activity)
		}
		if err := events.Close(); err != nil {
			t.Fatal(err)
		}
		if found := passing.FindStringSubmatch(strings.Join(activities, "\n")); found != nil {
			n, err := strconv.Atoi(found[1])
			if err != nil {
				t.Fatal(fmt.Errorf("read the trace: %w", err))
			}
			return n
		}
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
	}
}
