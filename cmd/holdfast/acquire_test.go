package main

import (
	"context"
	"net"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// grantAll is a member that grants every request.
type grantAll struct {
	schema.UnimplementedLocksServer
}

func (grantAll) Acquire(_ context.Context, q *schema.AcquireRequest) (*schema.AcquiredAll, error) {
	granted := &schema.AcquiredAll{Session: "id.secret"}
	for _, name := range q.GetNames() {
		granted.Locks = append(granted.Locks, &schema.Acquired{
			Space: q.GetSpace(), Name: name, Mode: schema.Mode_MODE_EXCLUSIVE, Token: 7, Session: "id.secret", Class: schema.Class_CLASS_FENCED,
		})
	}
	return granted, nil
}

// A member that is just starting is waited for.
func TestAcquireWaitsForTheMember(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	schema.RegisterLocksServer(server, grantAll{})
	served := make(chan error, 1)
	go func() {
		first, err := listener.Accept()
		if err == nil {
			err = first.Close() // it does not serve yet
		}
		if err == nil {
			err = server.Serve(listener)
		}
		served <- err
	}()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	out, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	p := &program{
		args:  []string{name, "acquire", "--no-keep", "--wait", "1m", "--timeout", "1m", "--server", listener.Addr().String(), "n"},
		stdin: os.Stdin, stdout: out, stderr: os.Stderr,
	}
	if code := p.run(t.Context()); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	if said, err := os.ReadFile(out.Name()); err != nil || !strings.HasPrefix(string(said), "n 7 ") {
		t.Errorf("said %q, %v", said, err)
	}
}

func TestAcquireSlots(t *testing.T) {
	for _, text := range []string{"", "1", "/", "1/", "/2", "a/b", "1/2/3", "1.5/2", "99999999999999999999/1"} {
		if units, capacity, err := parseSlots(text); err == nil {
			t.Errorf("parseSlots(%q) = %d, %d", text, units, capacity)
		}
	}
	if units, capacity, err := parseSlots("2/5"); units != 2 || capacity != 5 || err != nil {
		t.Errorf("parseSlots(2/5) = %d, %d, %v", units, capacity, err)
	}
}
