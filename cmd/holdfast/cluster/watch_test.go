package cluster

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
)

// watching is a `holdfast locks --watch --json` at one member.
type watching struct {
	*harness
	command *exec.Cmd
	events  chan *schema.WatchEvent
}

// watch begins to watch at a member. Its events count from the first one that
// is seen, so things are made to happen until one is.
func (b *harness) watch(at *clustertest.Member) *watching {
	b.Helper()
	w := &watching{harness: b, events: make(chan *schema.WatchEvent, 1000)}
	w.command = exec.CommandContext(b.ctx, program, "locks", "--watch", "--json", "--server", at.Address)
	w.command.Stderr = os.Stderr
	out, err := w.command.StdoutPipe()
	b.check(err)
	b.check(w.command.Start())
	go func() {
		defer close(w.events)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			e := &schema.WatchEvent{}
			if api.NewJSON().Read(lines.Bytes(), e) != nil {
				return
			}
			w.events <- e
		}
	}()
	for {
		b.use(at, "probe")
		select {
		case _, open := <-w.events:
			if !open {
				b.Fatal("locks --watch has ended")
			}
			return w
		default:
		}
	}
}

// until returns the first event that is as wanted.
func (w *watching) until(what string, is func(*schema.WatchEvent) bool) *schema.WatchEvent {
	w.Helper()
	for {
		select {
		case e, open := <-w.events:
			if !open {
				w.Fatalf("locks --watch has ended before it has shown %s", what)
			}
			if is(e) {
				w.logf("watched: %s %s %v through %s %s", e.Event, e.Name, e.Token, e.Member, e.Why)
				return e
			}
		case <-w.ctx.Done():
			w.Fatalf("locks --watch does not show %s", what)
		}
	}
}

// use takes a name through a member, and gives it back.
func (b *harness) use(through *clustertest.Member, name string) holdfast.Token {
	b.Helper()
	c, err := client.Dial(b.ctx, through.Address)
	b.check(err)
	defer c.Close()
	l, err := c.Lock(b.ctx, name)
	b.check(err)
	b.check(l.Unlock(context.WithoutCancel(b.ctx)))
	return l.Token()
}

// sees takes and gives back a name through a member, and wants both to be shown in order,
// unless events of the member are shown as missing: then it is tried again.
func (w *watching) sees(through *clustertest.Member, name string) {
	w.Helper()
	for {
		token, granted := w.use(through, name), false
		e := w.until("a release", func(e *schema.WatchEvent) bool {
			mine := e.Member == through.Name && e.Token == uint64(token) && e.Name == name
			granted = granted || mine && e.Event == "granted"
			if mine && (e.GetClient() == "" || e.GetSession() == "" || e.GetHolder() != e.GetClient()) {
				w.Errorf("%s of %s: client %q, session %q, holder %q", e.Event, name, e.GetClient(), e.GetSession(), e.GetHolder())
			}
			return mine && e.Event == "released" || e.Member == through.Name && e.Until != nil
		})
		if e.Event != "released" {
			continue
		}
		if !granted {
			w.Errorf("%s was released under %v before it was granted", name, token)
		}
		return
	}
}

// TestWatch: a watcher at one member sees what happens through any, and a report of what
// it cannot see when another is killed.
func TestWatch(t *testing.T) {
	t.Parallel()
	b := prepare(t, clustertest.Settings{Addresses: loopback(t, 3), Lease: steady()})
	b.check(b.cluster.Start(b.ctx))
	at := b.coordinator()
	second := b.another(at)
	third := b.another(at, second)
	w := b.watch(at)
	for _, m := range []*clustertest.Member{second, third, at} {
		w.sees(m, "orders/42")
	}
	b.check(second.Kill())
	w.until("a gap", func(e *schema.WatchEvent) bool {
		return e.Event == "space" && e.Member == second.Name && e.Since != nil && (e.Until == nil)
	})
	w.sees(third, "orders/43")
	b.check(second.Start())
	w.until("the end of the gap", func(e *schema.WatchEvent) bool { return e.Member == second.Name && e.Until != nil })
	w.sees(second, "orders/44")
	b.check(w.command.Process.Signal(syscall.SIGINT))
	for range w.events { // until it has ended
	}
	_ = w.command.Wait() // an interrupt has ended it
	b.check(b.cluster.End(b.ctx))
}
