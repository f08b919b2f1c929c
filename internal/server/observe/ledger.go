package observe

// ledger is a map that keeps the latest keys. Its zero value is empty.
type ledger[K comparable, V any] struct {
	all  map[K]V
	ring []K // in the order in which they came; keys that were taken remain in it
	next int
}

func (l *ledger[K, V]) has(key K) bool {
	_, has := l.all[key]
	return has
}

// put sets the value of a key. A new key displaces the oldest one, if there are as many as are remembered.
func (l *ledger[K, V]) put(key K, value V) {
	if l.all == nil {
		l.all = map[K]V{}
	}
	if l.has(key) {
		l.all[key] = value
		return
	}
	l.all[key] = value
	if len(l.ring) < remembered {
		l.ring = append(l.ring, key)
		return
	}
	delete(l.all, l.ring[l.next])
	l.ring[l.next] = key
	l.next = (l.next + 1) % remembered
}

// take removes a key, and returns its value.
func (l *ledger[K, V]) take(key K) (value V, had bool) {
	value, had = l.all[key]
	delete(l.all, key)
	return value, had
}
