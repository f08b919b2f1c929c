package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	refused "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// TestKnown: of the events around a listing, those that it has are left out, and no other.
func TestKnown(t *testing.T) {
	k := newKnown()
	at := timestamppb.Now()
	for _, e := range []*schema.WatchEvent{
		{Event: "held", Name: "n", Token: 7, Session: "s7", Time: at},
		{Event: "held", Name: "n", Token: 9, Session: "s9", Time: at},
		{Event: "waiting", Name: "n", Session: "s10", Time: at},
	} {
		k.listed(e)
	}
	for i, row := range []struct {
		event, name string
		token       uint64
		session     string
		early, past bool
	}{
		{"waiting", "n", 0, "s9", true, true},    // it holds by now
		{"granted", "n", 8, "s8", true, true},    // it had ended
		{"released", "n", 8, "s8", true, true},   // likewise
		{"granted", "n", 9, "s9", true, true},    // it is listed
		{"waiting", "n", 0, "s10", true, true},   // it is listed
		{"cancelled", "n", 0, "s6", true, true},  // it had ended
		{"released", "m", 3, "s3", true, true},   // it had ended, and the name is free
		{"view", "", 0, "", true, false},         // no fact of a lock
		{"released", "n", 7, "s7", true, false},  // it is listed as held
		{"lost", "n", 9, "s9", true, false},      // likewise
		{"granted", "n", 10, "s10", true, false}, // it is listed as waiting
		{"granted", "n", 8, "s8", false, false},  // no token of the listing is left to compare with
		{"released", "n", 10, "s10", false, false},
		{"waiting", "n", 0, "s9", false, false},
		{"cancelled", "n", 0, "s9", false, false},
		{"released", "m", 4, "s4", false, false},
	} {
		e := &schema.WatchEvent{Event: row.event, Name: row.name, Token: row.token, Session: row.session, Time: at}
		if _, past := k.happened(e, row.early); past != row.past {
			t.Errorf("row %d, %v: past is %v, want %v", i, e, past, row.past)
		}
	}
	if len(k.waits) != 0 {
		t.Errorf("waits are left: %v", k.waits)
	}
}

// TestWatcherWidths: a long name widens the columns of its line and of a few after it.
func TestWatcherWidths(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/out")
	must(t, err)
	defer file.Close()
	p := &program{stdout: file}
	w := &watcher{out: p.screen(), known: newKnown(), table: newTable("TIME", "NAME", "WHY"), screen: func() int { return 0 }}
	long := strings.Repeat("x", 40)
	for i := range 2*recentRows + 1 {
		name := fmt.Sprintf("n%d", i)
		if i == 1 {
			name = long
		}
		w.row(time.TimeOnly, name, "why")
		must(t, w.show())
	}
	text, err := os.ReadFile(file.Name())
	must(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 2*recentRows+2 {
		t.Fatalf("%d lines, want %d", len(lines), 2*recentRows+2)
	}
	short := strings.Index(lines[1], "why")
	for i, want := range map[int]int{2: short + 40 - 12, 3: short + 40 - 12, recentRows: short + 40 - 12, len(lines) - 1: short} {
		if at := strings.Index(lines[i], "why"); at != want {
			t.Errorf("line %d: the last column is at %d, want %d", i, at, want)
		}
	}
}

// TestWatcherHeaders: on a terminal the header is printed again when columns have moved, so that each row is below its
// titles; and not for each row.
func TestWatcherHeaders(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/out")
	must(t, err)
	defer file.Close()
	p := &program{stdout: file}
	columns := 60
	w := &watcher{out: p.screen(), known: newKnown(), table: newTable("TIME", "NAME", "WHY").long("NAME"), screen: func() int { return columns }}
	must(t, w.show())
	for i := range 3*recentRows + 1 {
		name := fmt.Sprintf("n%d", i)
		switch i {
		case 1:
			name = strings.Repeat("x", 20)
		case 3 * recentRows:
			columns, name = 30, strings.Repeat("y", 40)
		}
		w.row(time.TimeOnly, name, "why")
		must(t, w.show())
	}
	text, err := os.ReadFile(file.Name())
	must(t, err)
	headers, at := 0, 0
	for line := range strings.Lines(string(text)) {
		if title := strings.Index(line, "WHY"); title >= 0 {
			headers, at = headers+1, title
		} else if utf8.RuneCountInString(line[:strings.Index(line, "why")]) != at {
			t.Errorf("%q is not below its header, whose last column is at %d", line, at)
		}
	}
	if headers != 4 { // at first, when it is wider, when it is not any more, and on the narrower terminal
		t.Errorf("%d headers, want 4:\n%s", headers, text)
	}
}

// overlapping is a member at which things happen between the begin of a feed and the answer to a listing.
type overlapping struct {
	schema.UnimplementedLocksServer
	begun, listing, happened chan struct{}
}

func (m *overlapping) Watch(_ *schema.WatchRequest, stream grpc.ServerStreamingServer[schema.WatchEvent]) error {
	if err := stream.SendHeader(metadata.MD{}); err != nil {
		return err
	}
	close(m.begun)
	<-m.listing
	send := func(events ...*schema.WatchEvent) error {
		for _, e := range events {
			e.Time, e.Name, e.Member = timestamppb.Now(), "n", "a"
			if err := stream.Send(e); err != nil {
				return err
			}
		}
		return nil
	}
	if err := send(&schema.WatchEvent{Event: "released", Token: 6, Session: "s6"}, &schema.WatchEvent{Event: "granted", Token: 7, Session: "s7"}); err != nil {
		return err
	}
	close(m.happened)
	if err := send(&schema.WatchEvent{Event: "released", Token: 7, Session: "s7"}, &schema.WatchEvent{Event: "granted", Token: 8, Session: "s8"}); err != nil {
		return err
	}
	return refused.Error(codes.PermissionDenied, "this feed is over, and no other one will do") // or the watcher asks for another one
}

func (m *overlapping) List(context.Context, *schema.ListRequest) (*schema.LockPage, error) {
	select {
	case <-m.begun:
	default:
		return nil, refused.Error(codes.Internal, "the listing was requested before the feed had begun")
	}
	close(m.listing)
	<-m.happened
	held := &schema.Grant{Token: 7, Session: "s7", Since: timestamppb.Now()}
	return &schema.LockPage{Locks: []*schema.Lock{{Name: "n", Token: 7, Holders: []*schema.Grant{held}}}}, nil
}

// TestWatchWithoutGap: what happens while the present state is listed is printed once.
func TestWatchWithoutGap(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	server := grpc.NewServer()
	schema.RegisterLocksServer(server, &overlapping{begun: make(chan struct{}), listing: make(chan struct{}), happened: make(chan struct{})})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() {
		server.Stop()
		must(t, <-served)
	}()
	out, err := os.Create(t.TempDir() + "/out")
	must(t, err)
	defer out.Close()
	p := &program{args: []string{name, "locks", "--watch", "--server", listener.Addr().String()}, stdin: os.Stdin, stdout: out, stderr: os.Stderr}
	if code := p.run(t.Context()); code != exitDenied {
		t.Errorf("exit code %d, want %d: the feed has ended", code, exitDenied)
	}
	text, err := os.ReadFile(out.Name())
	must(t, err)
	var got []string
	for line := range strings.Lines(string(text)) {
		got = append(got, strings.Fields(line)[1])
	}
	if want := []string{"EVENT", "held", "released", "granted"}; !slices.Equal(got, want) {
		t.Errorf("events %q, want %q:\n%s", got, want, text)
	}
}
