package sparing

import (
	"sync"
	"time"
)

// How long a sentence is no news, and how many are known to have been said.
const (
	newsAfter = time.Minute
	sayAtMost = 256
)

// Log remembers what was said lately. Its zero value has said nothing. It may be used by several goroutines.
type Log struct {
	mu   sync.Mutex
	said map[string]said
}

// said is a sentence that was said.
type said struct {
	at   time.Time
	held int // how often it was held back since
}

// News reports whether a sentence was not said within the last minute, and how often it was held back since it was said
// last.
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
