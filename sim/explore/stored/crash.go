package stored

import "time"

// restarts are the delays after which a crashed process starts again: at once; when its last write is older than W;
// when all that it has left behind has expired on every clock.
func restarts() []time.Duration {
	return []time.Duration{0, wait + 2*quantum, expiry + 2*skew}
}

// crash chooses whether a process crashes before its next step. Its requests to the store stay in flight, and its data
// there remains; its user, a part of the process, believes nothing any more. It starts again under another name, and
// its user wants the locks that it has not had.
func (w *world) crash(m *member) bool {
	if w.crashes == 0 || w.now == 0 || m.calls == 0 && m.request == 0 {
		return false
	}
	after := restarts()
	i := w.choose(1 + len(after))
	if i == 0 {
		return false
	}
	w.crashes--
	m.dead, m.believes = true, false
	for _, watching := range w.watches {
		delete(watching, m.number)
	}
	w.say("p%d crashes, and starts again after %v", m.number+1, after[i-1])
	next := &member{number: m.number, life: m.life + 1, ahead: m.ahead, calls: m.calls}
	if m.underWay {
		next.calls++
	}
	w.at(w.now+after[i-1], func() {
		if w.begin(next); w.broken == nil {
			w.acquire(next)
		}
	})
	return true
}
