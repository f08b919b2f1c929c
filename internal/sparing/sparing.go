package sparing

import (
	"sync"
	"time"
)

// How long a sentence is no news, and how many are remembered.
const (
	newsAfter = time.Minute
	sayAtMost = 256
)

// Log remembers recent sentences. Its zero value remembers none. It may be used by several goroutines.
type Log struct {
	mu   sync.Mutex
	said map[string]said
}

// said is a sentence that was let through.
type said struct {
	at   time.Time
	held int // how often it was held back since
}

// News reports whether a sentence has not been news within the last minute, and how often it was held back since it
// last was.
func (l *Log) News(sentence string) (news bool, held int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	last, known := l.said[sentence]
	if known && now.Sub(last.at) < newsAfter {
		last.held++
		l.said[sentence] = last
		return false, 0
	}
	if l.said == nil {
		l.said = map[string]said{}
	}
	if len(l.said) >= sayAtMost {
		clear(l.said) // a source of ever new sentences has some repeated
	}
	l.said[sentence] = said{at: now}
	return true, last.held
}
