package spin

import (
	"runtime"
	"sync"
)

// looks is how often a mutex is looked at before its Lock is called: for about a
// microsecond.
const looks = 400

// Mutex is a sync.Mutex whose Lock looks more often before it sleeps. It keeps the
// promise of sync.Mutex that nobody waits for ever: a mutex that somebody has waited for
// too long is not to be had by looking. The zero Mutex is unlocked.
type Mutex struct{ sync.Mutex }

// Lock takes the mutex.
func (m *Mutex) Lock() {
	if m.TryLock() {
		return
	}
	m.lockTaken()
}

func (m *Mutex) lockTaken() {
	if runtime.NumCPU() > 1 {
		for range looks {
			if m.TryLock() {
				return
			}
		}
	}
	m.Mutex.Lock()
}
