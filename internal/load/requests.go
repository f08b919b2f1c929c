package load

import (
	"slices"
	"time"
)

// RequestCounter is a Target that keeps its locks in a store, and counts what it asks that for.
type RequestCounter interface {
	// CountedRequests is what the store was asked for so far.
	CountedRequests() Requests
}

// Requests are what a store was asked for: each is a statement, and a round trip.
type Requests struct {
	Writes uint64 // conditional ones included
	Reads  uint64
	Tries  uint64 // those of the writes that were to take a lock
}

func (r Requests) minus(earlier Requests) Requests {
	return Requests{r.Writes - earlier.Writes, r.Reads - earlier.Reads, r.Tries - earlier.Tries}
}

// addRequests adds what so many locks have asked a store for. A worker that waits at either edge of the
// window has asked within it and got nothing, or the reverse.
func (f Figures) addRequests(r Requests, locks float64) {
	f[WritesPerLock], f[ReadsPerLock] = float64(r.Writes)/locks, float64(r.Reads)/locks
	if r.Tries > 0 {
		f[TriesWon] = locks / float64(r.Tries)
	}
}

// possible adds which part of the hand-offs there were that are possible where each holder keeps the
// lock for a while, and nothing takes any time besides.
func (f Figures) possible(think time.Duration) {
	if think > 0 {
		f[OfPossible] = f[HandoffsPerS] * think.Seconds()
	}
}

// requestColumns are those of what was asked of stores, where any row of a workload has it; of
// any workload where that is empty.
func (r *Result) requestColumns(workload string) (columns []column) {
	for _, c := range []struct {
		header string
		metric Metric
	}{{"WRITES", WritesPerLock}, {"READS", ReadsPerLock}, {"TRIES-WON", TriesWon}, {"OF-POSSIBLE", OfPossible}} {
		if slices.ContainsFunc(r.Rows, func(row *Row) bool {
			_, known := row.Figure(c.metric)
			return known && (workload == "" || row.Cell.Workload == workload)
		}) {
			columns = append(columns, figure(c.header, c.metric))
		}
	}
	return columns
}
