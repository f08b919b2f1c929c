package server

import (
	"crypto/subtle"
	"sync"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// mostLosses is the maximum number of remembered losses, of all sessions together.
const mostLosses = 16_384

// losses remembers the losses of one-shot sessions. The session machine reports a loss with every renewal, for any
// lock, as long as the session lives; a client gets it once, and again when it asks for that lock, so reported losses
// are kept here. Past its bound the oldest is forgotten, and a client that asks for that gets not_held.
type losses struct {
	mu        sync.Mutex
	bound     int
	bySession map[lock.SessionID][]*loss
	order     []*loss // a ring once it is full
	next      int
}

type loss struct {
	credentials credentials
	port        protocol.Port
	name        string
	token       holdfast.Token
	why         holdfast.Loss
	reported    bool
}

func newLosses() *losses {
	return &losses{bound: mostLosses, bySession: map[lock.SessionID][]*loss{}}
}

// add records losses of session c.
func (l *losses) add(c credentials, lost []session.Lost) {
	if len(lost) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, was := range lost {
		d := was.Decision
		if l.find(c, was.Port, d.Name, d.Token) == nil {
			l.push(&loss{c, was.Port, d.Name, d.Token, d.Loss, false})
		}
	}
}

func (l *losses) push(n *loss) {
	l.bySession[n.credentials.id] = append(l.bySession[n.credentials.id], n)
	if len(l.order) < l.bound {
		l.order = append(l.order, n)
		return
	}
	oldest := l.order[l.next]
	id := oldest.credentials.id
	if rest := l.bySession[id][1:]; len(rest) > 0 {
		l.bySession[id] = rest
	} else {
		delete(l.bySession, id)
	}
	l.order[l.next] = n
	l.next = (l.next + 1) % l.bound
}

// why returns why session c has lost that grant, or "", and marks it as reported.
func (l *losses) why(c credentials, port protocol.Port, name string, token holdfast.Token) holdfast.Loss {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := l.find(c, port, name, token); n != nil {
		n.reported = true
		return n.why
	}
	return ""
}

func (l *losses) find(c credentials, port protocol.Port, name string, token holdfast.Token) *loss {
	for _, n := range l.bySession[c.id] {
		if n.port == port && n.token == token && n.name == name && n.credentials.proves(c) {
			return n
		}
	}
	return nil
}

// unreported returns the first unreported loss of session c, and marks all of them as reported.
func (l *losses) unreported(c credentials) (first loss, found bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.bySession[c.id] {
		if !n.reported && n.credentials.proves(c) {
			if !found {
				first, found = *n, true
			}
			n.reported = true
		}
	}
	return first, found
}

// proves compares two credentials in constant time.
func (c credentials) proves(other credentials) bool {
	return c.id == other.id && subtle.ConstantTimeCompare(c.secret[:], other.secret[:]) == 1
}
