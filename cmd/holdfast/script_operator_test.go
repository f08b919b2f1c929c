package main

import (
	"context"
	"net"
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// answering is a member that answers each operator's deed on a space with the same.
type answering struct {
	schema.UnimplementedAdminServer
	document string
	problem  string // a code; "" for the document
}

// answerOf reads the answer, unless there is a problem.
func answerOf[M proto.Message](ctx context.Context, a *answering, m M) (M, error) {
	var none M
	switch {
	case a.problem == "silence":
		<-ctx.Done()
		return none, ctx.Err()
	case a.problem != "":
		return none, api.ToStatus(api.Fail(a.problem, a.document))
	}
	return m, api.NewJSON().Read([]byte(a.document), m)
}

func (a *answering) Transfer(ctx context.Context, _ *schema.TransferRequest) (*schema.Transferred, error) {
	return answerOf(ctx, a, &schema.Transferred{})
}

func (a *answering) Suspend(ctx context.Context, _ *schema.SuspendRequest) (*schema.Suspended, error) {
	return answerOf(ctx, a, &schema.Suspended{})
}

func (a *answering) Resume(ctx context.Context, _ *schema.ResumeRequest) (*schema.Suspended, error) {
	return answerOf(ctx, a, &schema.Suspended{})
}

func (a *answering) OpenSpace(ctx context.Context, _ *schema.OpenSpaceRequest) (*schema.OpenedSpace, error) {
	return answerOf(ctx, a, &schema.OpenedSpace{})
}

func (a *answering) CloseSpace(ctx context.Context, _ *schema.CloseSpaceRequest) (*schema.OpenedSpace, error) {
	return answerOf(ctx, a, &schema.OpenedSpace{})
}

// scriptAnswering starts a member that answers deeds on spaces until the end of the script.
func scriptAnswering(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: answering DOCUMENT | CODE SENTENCE | silence")
	}
	one := &answering{document: args[0]}
	if len(args) == 2 {
		one.problem, one.document = args[0], args[1]
	} else if args[0] == "silence" {
		one.problem = args[0]
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	server := grpc.NewServer()
	schema.RegisterAdminServer(server, one)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	ts.Defer(func() {
		server.Stop()
		ts.Check(<-served)
	})
	ts.Setenv("HOLDFAST_SERVER", l.Addr().String())
}

// scriptStatusSays asks a member for its status until that says something, or says it no longer.
func scriptStatusSays(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: status-says PATTERN [flags…]")
	}
	wanted, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	for {
		ts.Check(ts.Exec(name, append([]string{"status"}, args[1:]...)...))
		if wanted.MatchString(ts.ReadFile("stdout")) != neg {
			return
		}
	}
}
