// Package spin takes a mutex that is mostly held for less than a microsecond.
//
// Whoever finds a sync.Mutex taken looks at it a few times, in pauses that on many
// processors are longer than such a mutex is held, and then sleeps. Here it is looked at
// more often first: where two goroutines at a time want the same mutex, on two
// processors, that is worth a factor of two. With one processor it is never worth
// anything, because whoever has the mutex does not run meanwhile.
package spin
