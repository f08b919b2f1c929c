package terraform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// lockInfo is the part of Terraform's lock info that this package reads, or makes.
type lockInfo struct {
	ID      string
	Who     string
	Created time.Time
}

// holding is a lock that Terraform has taken through this handler. It does not change.
type holding struct {
	id   string
	info []byte // the lock info as Terraform has sent it
	lock *holdfast.Lock
}

// isHeld reports whether the lock is held.
func (o *holding) isHeld() bool { return o.lock.Check() == nil }

// lockName returns the name of the lock on a state.
func lockName(state string) string { return "terraform/" + state }

// at returns the last lock on a state that this handler has had, or nil.
func (h *Handler) at(name string) *holding {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.held[name]
}

// keep remembers a granted lock. It returns false if another request with the same ID was granted before: the locks of
// one owner share their grant.
func (h *Handler) keep(name string, granted *holding) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if before := h.held[name]; before != nil && before.id == granted.id && before.isHeld() {
		return false
	}
	h.held[name] = granted
	return true
}

// lock serves LOCK.
func (h *Handler) lock(ctx context.Context, name string, info []byte) answer {
	id, err := parseID(info)
	if err == nil && id == "" {
		err = errors.New("it has no ID")
	}
	if err != nil {
		return refused(http.StatusBadRequest, fmt.Errorf("LOCK of the state %q: the body is no lock info: %w", name, err))
	}
	if at := h.at(name); at != nil && at.id == id && at.isHeld() {
		return answer{status: http.StatusOK} // repeated
	}
	lock, err := h.locks.TryLock(ctx, lockName(name), holdfast.Owner(id), holdfast.Value(string(info)))
	if err != nil {
		return h.refuse(ctx, name, err)
	}
	if err := h.states.Fence(ctx, name, lock.Token()); err != nil {
		return failed(errors.Join(err, lock.Unlock(ctx)))
	}
	if !h.keep(name, &holding{id, info, lock}) {
		if err := lock.Unlock(ctx); err != nil {
			return failed(err)
		}
	}
	return answer{status: http.StatusOK}
}

// parseID returns the ID in a lock info.
func parseID(info []byte) (string, error) {
	var parsed lockInfo
	err := json.Unmarshal(info, &parsed)
	return parsed.ID, err
}

// unlock serves UNLOCK.
func (h *Handler) unlock(ctx context.Context, name string, info []byte) answer {
	id := "" // of Terraform's force-unlock, which sends nothing
	if len(info) > 0 {
		var err error
		if id, err = parseID(info); err != nil {
			return refused(http.StatusBadRequest, fmt.Errorf("UNLOCK of the state %q: the body is no lock info: %w", name, err))
		}
	}
	at := h.at(name)
	switch {
	case at == nil, id != "" && at.id != id && !at.isHeld():
		return refused(http.StatusConflict, fmt.Errorf(
			"state %q: this server does not hold a lock with ID %q; if another process serves it, unlock there, or break %q", name, id, lockName(name)))
	case id != "" && at.id != id:
		return locked(http.StatusConflict, at.info)
	}
	// ErrNotHeld: this lock was released by an earlier UNLOCK.
	if err := at.lock.Unlock(ctx); err != nil && !errors.Is(err, holdfast.ErrNotHeld) {
		return failed(fmt.Errorf("state %q: %w", name, err))
	}
	return answer{status: http.StatusOK}
}

// refuse answers a request for a lock that was not granted: with the info of the holder, if there is one.
func (h *Handler) refuse(ctx context.Context, name string, err error) answer {
	if !errors.Is(err, holdfast.ErrHeld) {
		return failed(err)
	}
	if at := h.at(name); at != nil && at.isHeld() {
		return locked(http.StatusLocked, at.info)
	}
	if info := h.observe(ctx, name); info != nil {
		return locked(http.StatusLocked, info)
	}
	var holder holdfast.HeldError
	if held, ok := errors.AsType[*holdfast.HeldError](err); ok {
		holder = *held
	}
	info, err := json.Marshal(lockInfo{ID: holder.Owner, Who: holder.Member, Created: holder.Since})
	if err != nil {
		return failed(err)
	}
	return locked(http.StatusLocked, info)
}

// observeWait is how long a refusal waits for the info of a lock that another process holds.
const observeWait = time.Second

// observe returns the info of the lock on a state that another process holds; nil if it cannot be seen.
func (h *Handler) observe(ctx context.Context, name string) []byte {
	observer, can := h.locks.(holdfast.Observer)
	if !can {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, observeWait)
	defer cancel()
	for state, err := range observer.Observe(ctx, lockName(name)) {
		holder, there := state.Leader()
		if err == nil && there && json.Valid([]byte(holder.Value)) {
			return []byte(holder.Value)
		}
		break // the refusal has what is known without it
	}
	return nil
}
