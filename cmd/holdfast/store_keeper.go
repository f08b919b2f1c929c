package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/storelock"
)

// Locks of acquire in a store are held by a keeper, because a claim is renewed by the process that has made it. The
// keeper is this program started again in the background. It reads the store's URL from its standard input, takes the
// locks, and reports them through a pipe; until then the end of its standard input ends the wait. From then on it
// answers renew and release on a socket in a folder that only its user can read, until all locks are released or the
// witnessed process has ended, when it releases them.

// storeKeeperCommand is internal.
func (p *program) storeKeeperCommand() *cli.Command {
	return &cli.Command{
		Name:   "store-keeper",
		Usage:  "hold locks in a store in the background; started by acquire",
		Hidden: true,
		Flags: clientFlags(append(append(requestFlags(), lockStoreFlags()...),
			&cli.IntFlag{Name: "while-pid", Usage: "keep the locks as long as process `PID` lives"})...),
		HideHelpCommand: true,
		Action:          p.keepInStore,
	}
}

// keptLocks is the keeper's report.
type keptLocks struct {
	Socket string           `json:"socket"`
	RID    string           `json:"rid"`
	TTL    time.Duration    `json:"ttl"`
	Class  holdfast.Class   `json:"class"`
	Tokens []holdfast.Token `json:"tokens"` // in the order of the names
}

// keepInStore runs the keeper.
func (p *program) keepInStore(ctx context.Context, c *cli.Command) error {
	ready := os.NewFile(keeperReady, "ready")
	k := &storeKeeper{name: c.Name, released: make(chan struct{})}
	kept, err := k.begin(ctx, p, c)
	report := fmt.Sprintf("%d %s", exitCode(err), sentence(err))
	if err == nil {
		document, failure := json.Marshal(kept)
		if failure != nil {
			panic(fmt.Sprintf("encode a report: %v", failure)) // it has nothing that could not be encoded
		}
		report = "0 " + string(document)
	}
	_, failure := fmt.Fprintln(ready, report)
	if err = errors.Join(err, failure, ready.Close()); err != nil {
		return errors.Join(err, k.close())
	}
	_ = os.Chdir("/") // to keep no file system busy; best effort
	go k.serve()
	select {
	case <-k.over:
	case <-k.released:
	}
	return k.close()
}

// storeKeeper holds the locks.
type storeKeeper struct {
	name     string
	lender   *storeLender
	listener net.Listener
	over     <-chan struct{} // closed when the witnessed process has ended

	mu       sync.Mutex
	locks    []*holdfast.Lock // those that were not released
	released chan struct{}    // closed when there are none
}

// begin takes the locks.
func (k *storeKeeper) begin(ctx context.Context, p *program, c *cli.Command) (*keptLocks, error) {
	stdin := bufio.NewReader(p.stdin)
	url, err := stdin.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("read the store's URL: %w", err)
	}
	if k.over, err = awaitEnd(c.Int("while-pid")); err != nil {
		return nil, fmt.Errorf("watch over process %d: %w", c.Int("while-pid"), err)
	}
	order, err := newStoreOrder(c, strings.TrimSpace(url))
	if err != nil {
		return nil, err
	}
	request, err := requestOf(c, c.Args().Slice())
	if err != nil {
		return nil, err
	}
	timeout, err := timeoutOf(c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, stdin) // its end is all that matters
		cancel()
	}()
	go func() {
		select {
		case <-k.over:
			cancel()
		case <-ctx.Done():
		}
	}()
	if k.locks, err = k.take(ctx, c, order, request, timeout); err != nil {
		return nil, err
	}
	if k.listener, err = listenPrivately(p); err != nil {
		return nil, err
	}
	kept := &keptLocks{Socket: k.listener.Addr().String(), RID: k.lender.Session(), TTL: k.lender.TTL(), Class: k.lender.locker.Class()}
	for _, lock := range k.locks {
		kept.Tokens = append(kept.Tokens, lock.Token())
	}
	return kept, nil
}

// take opens the store, and waits for the locks.
func (k *storeKeeper) take(ctx context.Context, c *cli.Command, order *storeOrder, request *request, timeout time.Duration) ([]*holdfast.Lock, error) {
	local := clock.Real()
	began, patience := local.Now(), request.wait
	if patience == 0 {
		patience = request.patience(timeout)
	}
	var err error
	if k.lender, err = order.openLender(ctx, spaceOf(c), patience, local, storelock.Outlived()); err != nil {
		return nil, err
	}
	options := request.options
	if limit := request.limit(); limit < asLongAsItTakes {
		options = append(slices.Clip(options), holdfast.Wait(max(1, limit-(local.Now()-began))))
	}
	locks, err := k.lender.LockAll(ctx, request.names, options...)
	if err != nil {
		return nil, request.refused(err)
	}
	return locks, nil
}

// close releases what is held, and closes the store.
func (k *storeKeeper) close() error {
	var errs []error
	if k.listener != nil {
		errs = append(errs, k.listener.Close()) // which removes the socket
	}
	if k.lender != nil {
		errs = append(errs, k.lender.Close())
	}
	return errors.Join(errs...)
}

// keeperRequest is a line to the keeper, and keeperAnswer its answer.
type keeperRequest struct {
	Name  string         `json:"name,omitempty"` // of a lock to release, or to set the value of; without it the locks are renewed
	Token holdfast.Token `json:"token,omitzero"`
	Value *string        `json:"value,omitempty"` // nil: release it
}

type keeperAnswer struct {
	Code int           `json:"code"` // exit code
	Text string        `json:"text,omitempty"`
	RID  string        `json:"rid,omitempty"`
	TTL  time.Duration `json:"ttl,omitempty"`
}

// keeperPatience is the time limit of a request to the keeper, at both ends.
const keeperPatience = 10 * time.Second

// serve answers requests, one after the other.
func (k *storeKeeper) serve() {
	for {
		connection, err := k.listener.Accept()
		if err != nil {
			return // it was closed
		}
		var request keeperRequest
		ctx, cancel := context.WithTimeout(context.Background(), keeperPatience)
		_ = connection.SetDeadline(time.Now().Add(keeperPatience)) // a connection has deadlines
		if json.NewDecoder(connection).Decode(&request) == nil {
			// A caller that has gone does not need the answer.
			_ = json.NewEncoder(connection).Encode(k.answer(ctx, &request))
		}
		cancel()
		_ = connection.Close()
		k.mu.Lock()
		over := len(k.locks) == 0
		k.mu.Unlock()
		if over {
			close(k.released)
			return
		}
	}
}

// answer does what is asked for.
func (k *storeKeeper) answer(ctx context.Context, request *keeperRequest) keeperAnswer {
	var err error
	switch {
	case request.Name == "":
		err = k.check()
	case request.Value != nil:
		err = k.setValue(ctx, request.Name, request.Token, *request.Value)
	default:
		err = k.release(ctx, request.Name, request.Token)
	}
	if err != nil {
		return keeperAnswer{Code: exitCode(err), Text: err.Error()}
	}
	return keeperAnswer{RID: k.lender.Session(), TTL: k.lender.TTL()}
}

// check returns why a lock was lost, if one was.
func (k *storeKeeper) check() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, lock := range k.locks {
		if err := lock.Check(); err != nil {
			return err
		}
	}
	return nil
}

// release releases one lock.
func (k *storeKeeper) release(ctx context.Context, name string, token holdfast.Token) error {
	k.mu.Lock()
	at, err := k.find("release", name, token)
	if err != nil {
		k.mu.Unlock()
		return err
	}
	lock := k.locks[at]
	k.locks = slices.Delete(k.locks, at, at+1)
	k.mu.Unlock()
	return lock.Unlock(ctx)
}

// setValue sets the value of one lock.
func (k *storeKeeper) setValue(ctx context.Context, name string, token holdfast.Token, value string) error {
	k.mu.Lock()
	at, err := k.find("set value", name, token)
	if err != nil {
		k.mu.Unlock()
		return err
	}
	lock := k.locks[at]
	k.mu.Unlock()
	return lock.SetValue(ctx, value)
}

// find returns the index of a lock. It is called with the mutex held.
func (k *storeKeeper) find(op, name string, token holdfast.Token) (int, error) {
	at := slices.IndexFunc(k.locks, func(l *holdfast.Lock) bool { return l.Name() == name && l.Token() == token })
	if at < 0 {
		return 0, &holdfast.Error{Op: op, Name: name, Err: fmt.Errorf("%w under token %v by this session", holdfast.ErrNotHeld, token)}
	}
	return at, nil
}
