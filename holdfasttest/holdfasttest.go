package holdfasttest

import (
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// Locker is one client of locks in memory: a session in one lockspace. Its methods are safe for concurrent use.
type Locker struct {
	client *client
	space  string
	view   bool // Close has no effect
}

var (
	_ holdfast.Locker   = (*Locker)(nil)
	_ holdfast.Observer = (*Locker)(nil)
)

// client is a client of an authority. The authority's mutex guards its state.
type client struct {
	authority *authority
	name      string
	session   *session
	closed    bool
}

// New returns a Locker in memory for a test. At the end of the test it is closed, with all Lockers made from it, and
// the test fails if a lock is still held. A malformed option ends the test.
func New(t testing.TB, options ...Option) *Locker {
	t.Helper()
	c := config{class: holdfast.Fenced}
	for _, option := range options {
		option(&c)
	}
	a, err := newAuthority(t, c)
	if err != nil {
		t.Fatalf("holdfasttest.New: %v", err)
	}
	t.Cleanup(a.end)
	return a.newClient(t.Name())
}

// Client returns a Locker over the same locks, with a session of its own in the default lockspace. Errors show the name
// in the place of an owner.
func (l *Locker) Client(name string) *Locker {
	a := l.client.authority
	a.t.Helper()
	if err := holdfast.CheckText("client", name); err != nil {
		a.misuse("Client(%q): %v", name, err)
	}
	return a.newClient(name)
}

// Expire ends the session of this client, as if it had not been renewed in time: its locks, in all lockspaces, are lost
// with holdfast.SessionExpired. Calls that wait go on in the client's next session, at the end of their queues.
func (l *Locker) Expire() {
	a := l.client.authority
	a.t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if l.client.closed {
		a.misuse("Expire: the client %q is closed, and has no session", l.client.name)
		return
	}
	a.expire(l.client)
}

// ExpireLock is Expire for the client that holds a lock.
func (l *Locker) ExpireLock(held *holdfast.Lock) {
	a := l.client.authority
	a.t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.requestOf(held)
	if r == nil {
		a.misuse("ExpireLock: the lock on %q is not held", held.Name())
		return
	}
	a.expire(r.session.client)
}

// Break takes a name from all its holders, in the lockspace of this Locker, as an operator does: their locks are lost
// with holdfast.Broken, and the next requests are granted.
func (l *Locker) Break(name string) {
	a := l.client.authority
	a.t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.breakGrant(l.space, name, 0)
}

// BreakLock is Break for one lock, whichever client of these locks has it.
func (l *Locker) BreakLock(held *holdfast.Lock) {
	a := l.client.authority
	a.t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.requestOf(held) == nil {
		a.misuse("BreakLock: the lock on %q is not held", held.Name())
		return
	}
	a.breakGrant(held.Space(), held.Name(), held.Token())
}

// Values returns the values of the locks on a name of this lockspace (see [holdfast.Value]), in the order of their
// grants. A lock without a value has "".
func (l *Locker) Values(name string) (values []string) {
	a := l.client.authority
	a.mu.Lock()
	defer a.mu.Unlock()
	table := a.tableOf(l.space)
	if table == nil {
		return nil
	}
	for _, grant := range table.Show(name).Holders {
		values = append(values, grant.Value)
	}
	return values
}

// Pause takes the authority away from all clients, in all lockspaces, until Resume. Locks are held on, and end at their
// hold limits. Requests wait: TryLock for 5 s, a call with a wait limit until that, and then they are ErrUnavailable.
// Unlock and Extend wait for Resume.
func (l *Locker) Pause() {
	a := l.client.authority
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pause()
}

// Resume brings the authority back: it grants what can be granted, in the order of the requests.
func (l *Locker) Resume() {
	a := l.client.authority
	a.mu.Lock()
	defer a.mu.Unlock()
	a.resume()
}

// Space returns the Locker of another lockspace, with the same session. It is a *Locker. Its Close has no effect.
func (l *Locker) Space(name string) holdfast.Locker {
	if name == "" {
		name = holdfast.DefaultSpace
	}
	return &Locker{client: l.client, space: name, view: true}
}

// Close ends the session of this client: its locks are released, and its waits end with ErrClosed.
func (l *Locker) Close() error {
	if l.view {
		return nil
	}
	a := l.client.authority
	a.mu.Lock()
	defer a.mu.Unlock()
	a.close(l.client)
	return nil
}

// requestOf returns the request by which a lock is held, or nil. The caller holds the mutex.
func (a *authority) requestOf(held *holdfast.Lock) *request {
	if r := a.requests[held.Request()]; r != nil && r.lock == held && held.Check() == nil {
		return r
	}
	return nil
}

// breakGrant revokes the grant of a name with a token, or with token 0 all of them. The caller holds the mutex.
func (a *authority) breakGrant(space, name string, token holdfast.Token) {
	a.t.Helper()
	table := a.tableOf(space)
	switch {
	case table == nil:
		a.misuse("Break %q: there is no space %q; give New the option Spaces(%q)", name, space, space)
		return
	case a.resumed != nil:
		a.misuse("Break %q: the locks are paused; call Resume before it", name)
		return
	}
	a.step(func(now lock.Time, out *[]lock.Decision) {
		if _, err := table.Break(now, name, token, out); err != nil {
			a.misuse("Break %q: the name is not held", name)
		}
	})
}
