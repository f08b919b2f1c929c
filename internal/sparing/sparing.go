package sparing

import (
	"sync"
	"time"
)

// How long a repeated message is held back, and how many messages are remembered.
const (
	newsAfter = time.Minute
	sayAtMost = 256
)

// Log remembers recent messages. Its zero value remembers none. It is safe for concurrent use.
type Log struct {
	mu   sync.Mutex
	said map[string]said
}

// said is a message that was let through.
type said struct {
	at   time.Time
	held int // times held back since
}

// News reports whether a message was not let through within the last minute, and how often it was held back since it
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
		clear(l.said) // a source of ever new messages has some repeated
	}
	l.said[sentence] = said{at: now}
	return true, last.held
}
