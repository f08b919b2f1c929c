package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/protocol"
)

// A guest has no part in a space of protocol consensus until it is added (Reform): it is a nonmember there, and
// insiders, the members that have a part, serve its clients.

// forwardedSpace is such a space, and whether this member has no part in it. The machine is checked after each of its
// steps.
type forwardedSpace struct {
	port  protocol.Port
	space protocol.Forwards
	is    *atomic.Bool
}

// watchForwarded finds the spaces in which this member may have no part.
func (n *Member) watchForwarded(spaces []protocol.Machine) {
	if !n.config.guest() {
		return
	}
	for i, space := range spaces {
		if space, may := space.(protocol.Forwards); may {
			o := forwardedSpace{protocol.Port(i + 1), space, new(atomic.Bool)}
			o.is.Store(space.Nonmember())
			n.forwarded = append(n.forwarded, o)
		}
	}
}

// Insiders returns the addresses of the members that serve clients in place of this one, a guest without a part in some
// space of protocol consensus: founders if the view has any that serve clients, and other members otherwise. It returns
// none if this member has a part in all spaces, and before its first view.
func (n *Member) Insiders() []string {
	if !slices.ContainsFunc(n.forwarded, func(o forwardedSpace) bool { return o.is.Load() }) {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.view == nil || n.cell.Accepted == nil {
		return nil
	}
	var founders, others []string
	for _, member := range n.cell.Accepted.Members {
		switch {
		case !member.Serves || member.Address == "" || member.ID == n.cell.ID:
		case member.Founder:
			founders = append(founders, member.Address)
		default:
			others = append(others, member.Address)
		}
	}
	if len(founders) > 0 {
		return founders
	}
	return others
}

// forwards reports whether this member has no part in the space at a port.
func (n *Member) forwards(port protocol.Port) bool {
	for _, o := range n.forwarded {
		if o.port == port {
			return o.is.Load()
		}
	}
	return false
}

// inside is the client with which a session of this process locks in spaces where this member has no part.
type inside struct {
	mu      sync.Mutex
	client  *client.Client // nil until connected
	dialing *dialing       // the current attempt to connect, or nil
	closed  bool
}

// dialing is one attempt to connect.
type dialing struct {
	done chan struct{} // closed at its end
	stop context.CancelFunc
	err  error // the reason of a failure; read after done
}

// insider returns the Locker of the same space at members that have a part in it; nil if this one has. Name is the
// requested lock, for errors. It waits for the first view until ctx ends, because no other members are known before.
func (l locker) insider(ctx context.Context, name string) (holdfast.Locker, error) {
	if l.port == 0 || !l.node.forwards(l.port) {
		return nil, nil
	}
	addresses, err := l.node.awaitInsiders(ctx)
	if err != nil {
		return nil, l.fail("lock", name, err)
	}
	if len(addresses) == 0 && !l.node.forwards(l.port) {
		return nil, nil // it has been added meanwhile
	}
	if len(addresses) == 0 {
		return nil, l.fail("lock", name, &holdfast.UnavailableError{Why: "this member has no part in the space, and no member that has one serves clients outside its process: give this one a Data folder and a part (Reform)"})
	}
	c, err := l.session.inside.dial(ctx, l.node, addresses)
	if err != nil {
		return nil, l.fail("lock", name, err)
	}
	return c.Space(l.space), nil
}

// atInsider locks at another member, unless there is an error.
func atInsider[T any](err error, lock func() (T, error)) (none T, _ error) {
	if err != nil {
		return none, err
	}
	return lock()
}

// awaitInsiders is Insiders in the first view, or a later one. It is empty if no other member serves clients.
func (n *Member) awaitInsiders(ctx context.Context) ([]string, error) {
	for {
		n.mu.Lock()
		changed, known, unfit, over := n.changed, n.view != nil, n.unfit, n.over
		n.mu.Unlock()
		switch {
		case unfit != nil:
			return nil, unfit
		case over:
			return nil, holdfast.ErrClosed
		case known:
			return n.Insiders(), nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: this member is in no view yet: %w", holdfast.ErrUnavailable, ctx.Err())
		}
	}
}

// dial connects to other members, once for all calls of a session. A call's context bounds only how long that call
// waits; the connection attempt continues for the next call. If a call's context has a deadline, attempts are repeated
// until then.
func (i *inside) dial(ctx context.Context, n *Member, addresses []string) (*client.Client, error) {
	for {
		i.mu.Lock()
		if i.client != nil || i.closed {
			defer i.mu.Unlock()
			if i.closed {
				return nil, holdfast.ErrClosed
			}
			return i.client, nil
		}
		if i.dialing == nil {
			i.begin(n, targetOf(addresses))
		}
		under := i.dialing
		i.mu.Unlock()
		select {
		case <-under.done:
			if _, bounded := ctx.Deadline(); under.err != nil && !(bounded && errors.Is(under.err, holdfast.ErrUnavailable)) {
				return nil, under.err
			}
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: this member has no part in the space, and is not connected to %s yet: %w", holdfast.ErrUnavailable, targetOf(addresses), ctx.Err())
		}
	}
}

// begin connects. It is called with the mutex held.
func (i *inside) begin(n *Member, target string) {
	options := []client.Option{client.Name(n.Name()), client.TTL(n.config.TTL), client.Logger(n.logger)}
	if n.config.TLS != nil {
		options = append(options, client.TLS(n.config.TLS), client.Member(n.Name()))
	}
	ctx, stop := context.WithCancel(context.Background())
	d := &dialing{done: make(chan struct{}), stop: stop}
	i.dialing = d
	go func() {
		defer close(d.done)
		defer stop()
		c, err := client.Dial(ctx, target, options...)
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.closed && err != nil {
			err = holdfast.ErrClosed // close has stopped it
		}
		i.client, i.dialing, d.err = c, nil, err
	}()
}

// targetOf returns all addresses as one client target. A socket needs its own target, so the first one is used alone.
func targetOf(addresses []string) string {
	ports := slices.DeleteFunc(slices.Clone(addresses), func(a string) bool { return strings.HasPrefix(a, "unix://") })
	if len(ports) == 0 {
		return addresses[0]
	}
	return strings.Join(ports, ",")
}

// close ends all holds through insiders.
func (i *inside) close() error {
	i.mu.Lock()
	i.closed = true
	under := i.dialing
	i.mu.Unlock()
	if under != nil {
		under.stop()
		<-under.done
	}
	if i.client == nil { // it no longer changes
		return nil
	}
	return i.client.Close()
}
