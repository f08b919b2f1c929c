package terraform

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync"

	"github.com/holdfast-locks/holdfast"
)

// The methods of the protocol that net/http does not name.
const (
	methodLock   = "LOCK"
	methodUnlock = "UNLOCK"
)

// MaxState is the maximum length of a state, in bytes.
const MaxState = 256 << 20

// Handler serves states and their locks. The path of a request, without slashes at its ends, is the name of the state;
// see [CheckName]. Handlers are safe for concurrent use.
type Handler struct {
	locks  holdfast.Locker
	states States

	mu   sync.Mutex
	held map[string]*holding // by state; the last one that this handler has had
}

var _ http.Handler = (*Handler)(nil)

// New returns a handler over the locks of one lockspace. Closing the Locker releases the locks that Terraform holds.
func New(locks holdfast.Locker, states States) *Handler {
	return &Handler{locks: locks, states: states, held: map[string]*holding{}}
}

// answer is the end of a request.
type answer struct {
	status int
	body   []byte // JSON; nil for the text of err
	err    error
}

// locked answers with the info of the holder, as Terraform shows it.
func locked(status int, info []byte) answer { return answer{status: status, body: info} }

// refused answers with an error, in plain text.
func refused(status int, err error) answer { return answer{status: status, err: err} }

// failed answers with the status that belongs to an error of a Locker or of States.
func failed(err error) answer {
	for _, known := range []struct {
		err    error
		status int
	}{
		{ErrStale, http.StatusConflict},
		{holdfast.ErrLost, http.StatusConflict},
		{holdfast.ErrNotHeld, http.StatusConflict},
		{holdfast.ErrName, http.StatusBadRequest},
		{holdfast.ErrDenied, http.StatusForbidden},
		{holdfast.ErrUnavailable, http.StatusServiceUnavailable},
		{holdfast.ErrLimit, http.StatusServiceUnavailable},
		{holdfast.ErrClosed, http.StatusServiceUnavailable},
		{context.Canceled, http.StatusServiceUnavailable},
		{context.DeadlineExceeded, http.StatusServiceUnavailable},
		{fs.ErrNotExist, http.StatusNotFound},
	} {
		if errors.Is(err, known.err) {
			return refused(known.status, err)
		}
	}
	return refused(http.StatusInternalServerError, err)
}

// ServeHTTP serves one request. See the page of the package.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := h.serve(w, r)
	switch {
	case a.err != nil:
		http.Error(w, a.err.Error(), a.status)
	case a.body != nil:
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-MD5", digest(a.body))
		w.WriteHeader(a.status)
		// A client that has gone needs no answer, and repeats the request.
		_, _ = w.Write(a.body)
	default:
		w.WriteHeader(a.status)
	}
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request) answer {
	name := strings.Trim(r.URL.Path, "/")
	if err := CheckName(name); err != nil {
		return refused(http.StatusBadRequest, err)
	}
	switch r.Method {
	case http.MethodGet:
		return h.read(r.Context(), name)
	case http.MethodPost, http.MethodPut, http.MethodDelete, methodLock, methodUnlock:
	default:
		w.Header().Set("Allow", "GET, POST, PUT, DELETE, LOCK, UNLOCK")
		return refused(http.StatusMethodNotAllowed, fmt.Errorf("method %s: want GET, POST, PUT, DELETE, LOCK or UNLOCK", r.Method))
	}
	most := int64(holdfast.MaxValue)
	if r.Method == http.MethodPost || r.Method == http.MethodPut {
		most = MaxState
	}
	body, err := readBody(w, r, most)
	if err != nil {
		status := http.StatusBadRequest
		if _, tooLong := errors.AsType[*http.MaxBytesError](err); tooLong {
			status = http.StatusRequestEntityTooLarge
		}
		return refused(status, fmt.Errorf("%s of the state %q: %w", r.Method, name, err))
	}
	switch r.Method {
	case methodLock:
		return h.lock(r.Context(), name, body)
	case methodUnlock:
		return h.unlock(r.Context(), name, body)
	case http.MethodDelete:
		return h.write(r.Context(), name, r.URL.Query().Get("ID"), nil)
	}
	if len(body) == 0 {
		return refused(http.StatusBadRequest, fmt.Errorf("%s of the state %q: the body is empty; send a state, or DELETE it", r.Method, name))
	}
	return h.write(r.Context(), name, r.URL.Query().Get("ID"), body)
}

// readBody reads a body of at most so many bytes, and compares it with its digest if the request has one.
func readBody(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if err != nil {
		return nil, fmt.Errorf("read the body: %w", err)
	}
	if want := r.Header.Get("Content-MD5"); want != "" && want != digest(body) {
		return nil, fmt.Errorf("the body has the MD5 %s, and its Content-MD5 is %q; send it again", digest(body), want)
	}
	return body, nil
}

// digest is what Content-MD5 has. It finds accidents, and protects against nothing else.
func digest(body []byte) string {
	sum := md5.Sum(body)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// read serves GET.
func (h *Handler) read(ctx context.Context, name string) answer {
	state, err := h.states.Read(ctx, name)
	if err != nil {
		return failed(err)
	}
	return answer{status: http.StatusOK, body: state}
}

// write serves POST, PUT and DELETE: under the lock with that ID, or without an ID under one of its own.
func (h *Handler) write(ctx context.Context, name, id string, state []byte) answer {
	if id == "" {
		return h.writeAlone(ctx, name, state)
	}
	at := h.at(name)
	switch {
	case at == nil, at.id != id && !at.isHeld():
		return refused(http.StatusConflict, fmt.Errorf("state %q: this server does not hold a lock with ID %q", name, id))
	case at.id != id:
		return locked(http.StatusLocked, at.info)
	}
	if err := at.lock.Check(); err != nil {
		return failed(fmt.Errorf("state %q: %w", name, err))
	}
	if err := h.states.Write(ctx, name, at.lock.Token(), state); err != nil {
		return failed(err)
	}
	return answer{status: http.StatusOK}
}

// writeAlone writes under a lock that lasts for the write.
func (h *Handler) writeAlone(ctx context.Context, name string, state []byte) answer {
	lock, err := h.locks.TryLock(ctx, lockName(name), holdfast.Reason("a write without a lock ID"))
	if err != nil {
		return h.refuse(ctx, name, err)
	}
	err = h.states.Write(ctx, name, lock.Token(), state)
	// The release goes on by itself if the client has gone.
	if err = errors.Join(err, lock.Unlock(ctx)); err != nil {
		return failed(fmt.Errorf("state %q: %w", name, err))
	}
	return answer{status: http.StatusOK}
}
