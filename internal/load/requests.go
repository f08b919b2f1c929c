package load

import (
	"slices"
	"time"
)

// RequestCounter is a Target that keeps its locks in a store, and counts its requests.
type RequestCounter interface {
	// CountedRequests returns the requests to the store so far.
	CountedRequests() Requests
}

// Requests counts requests to a store: each is a statement, and a round trip.
type Requests struct {
	Writes uint64 // conditional ones included
	Reads  uint64
	Tries  uint64 // writes that were to take a lock
}

func (r Requests) minus(earlier Requests) Requests {
	return Requests{r.Writes - earlier.Writes, r.Reads - earlier.Reads, r.Tries - earlier.Tries}
}

// addRequests adds the requests to a store for that many locks. A worker that waits at an edge of the window may have
// made requests within it without a lock, or the reverse.
func (f Figures) addRequests(r Requests, locks float64) {
	f[WritesPerLock], f[ReadsPerLock] = float64(r.Writes)/locks, float64(r.Reads)/locks
	if r.Tries > 0 {
		f[TriesWon] = locks / float64(r.Tries)
	}
}

// possible adds the ratio of hand-offs to the maximum possible if each holder keeps the lock for a while, and nothing
// else takes time.
func (f Figures) possible(think time.Duration) {
	if think > 0 {
		f[OfPossible] = f[HandoffsPerS] * think.Seconds()
	}
}

// requestColumns returns the columns for requests to stores, if any row of a workload has them; of any workload if that
// is empty.
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
