package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
)

// scriptRequest is what hold and queue ask for.
type scriptRequest struct {
	name, space string
	ttl         time.Duration
	wait        bool
	session     string // requests with the same one share a session; "" opens one
	same        bool   // in the session of the latest hold or queue
	options     []holdfast.Option
}

// scriptRequestOf reads NAME and flags, in any order of the two.
func scriptRequestOf(ts *testscript.TestScript, args []string) scriptRequest {
	if len(args) == 0 {
		ts.Fatalf("usage: hold NAME [-space S] [-owner ID] [-reason TEXT] [-shared] [-slots U/N] [-ttl D] [-wait] [-session S] [-same]")
	}
	w := scriptRequest{name: args[0]}
	flags := flag.NewFlagSet("hold", flag.ContinueOnError)
	flags.SetOutput(ts.Stderr())
	flags.StringVar(&w.space, "space", holdfast.DefaultSpace, "")
	flags.StringVar(&w.session, "session", "", "")
	flags.DurationVar(&w.ttl, "ttl", 0, "")
	flags.BoolVar(&w.wait, "wait", false, "")
	flags.BoolVar(&w.same, "same", false, "")
	owner := flags.String("owner", "", "")
	reason := flags.String("reason", "", "")
	shared := flags.Bool("shared", false, "")
	slots := flags.String("slots", "", "")
	ts.Check(flags.Parse(args[1:]))
	w.options = []holdfast.Option{holdfast.Owner(*owner), holdfast.Reason(*reason)}
	if *shared {
		w.options = append(w.options, holdfast.Shared())
	}
	if *slots != "" {
		var units, capacity int
		_, err := fmt.Sscanf(*slots, "%d/%d", &units, &capacity)
		ts.Check(err)
		w.options = append(w.options, holdfast.Slots(units, capacity))
	}
	return w
}

// open opens a session for a request. It is closed by let-go, or at the end of the
// script; a server that is gone by then does not hear of it.
func (w scriptRequest) open(ts *testscript.TestScript) *client.Client {
	b := backgroundOf(ts)
	if c := b.sessions[w.session]; c != nil {
		return c
	}
	if w.same && len(b.clients) > 0 {
		return b.clients[len(b.clients)-1]
	}
	c, err := client.Dial(context.Background(), ts.Getenv("HOLDFAST_SERVER"), client.Name("test"), client.TTL(w.ttl), client.Space(w.space))
	ts.Check(err)
	ts.Defer(func() {
		if err := c.Close(); err != nil {
			ts.Logf("close the session of %q: %v", w.name, err)
		}
	})
	b.clients = append(b.clients, c)
	if w.session != "" {
		if b.sessions == nil {
			b.sessions = map[string]*client.Client{}
		}
		b.sessions[w.session] = c
	}
	return c
}

// scriptLetGo ends the sessions of hold and queue, and returns when the server has
// said that they have ended.
func scriptLetGo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: let-go")
	}
	b := backgroundOf(ts)
	for _, c := range b.clients {
		ts.Check(goodbye(ts, c))
	}
	b.clients = nil
}

// goodbye closes a client. On a busy machine Close may give up before its session's
// end is acknowledged; the server is asked until it is, then.
func goodbye(ts *testscript.TestScript, c *client.Client) error {
	session := c.Session() + "." + c.Secret()
	err := c.Close()
	if !errors.Is(err, holdfast.ErrUnavailable) {
		return err
	}
	admin, err := client.DialAdmin(ts.Getenv("HOLDFAST_SERVER"))
	if err != nil {
		return err
	}
	defer admin.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := admin.EndSession(ctx, session); !errors.Is(err, holdfast.ErrLost) {
		return err
	}
	return nil // it had ended after all
}

func scriptHold(ts *testscript.TestScript, neg bool, args []string) {
	w := scriptRequestOf(ts, args)
	c := w.open(ts)
	take := c.TryLock
	if w.wait {
		take = c.Lock
	}
	held, err := take(context.Background(), w.name, w.options...)
	if neg != (err != nil) {
		ts.Fatalf("hold %q: %v", w.name, err)
	}
	if held != nil {
		ts.Setenv("TOKEN", strconv.FormatUint(uint64(held.Token()), 10))
	}
}

func scriptHoldMany(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: hold-many COUNT PREFIX")
	}
	count, err := strconv.Atoi(args[0])
	ts.Check(err)
	c := scriptRequest{name: args[1]}.open(ts)
	for i := range count {
		_, err := c.TryLock(context.Background(), fmt.Sprintf("%s%06d", args[1], i))
		ts.Check(err)
	}
}

func scriptQueue(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("unsupported: ! queue")
	}
	w := scriptRequestOf(ts, args)
	c := w.open(ts)
	queued := make(chan struct{})
	refused := make(chan error, 1)
	go func() {
		_, err := c.Lock(context.Background(), w.name, append(w.options, holdfast.OnQueued(func(int) { close(queued) }))...)
		refused <- err
	}()
	select {
	case <-queued:
	case err := <-refused:
		ts.Fatalf("queue %q: it does not have to wait: %v", w.name, err)
	}
}
