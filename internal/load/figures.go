package load

import "slices"

// Metric is the kind of a figure. Its text is the name of the figure's field in JSON.
type Metric string

// The metrics of rows, as listed in docs/design/formats.md §3, followed by those that are only in the details.
const (
	OpsPerS          Metric = "ops_per_s"           // locks taken per second
	P50              Metric = "p50_us"              // of a cycle; of a wait, with Hot and Drain
	P99              Metric = "p99_us"              //
	Max              Metric = "max_us"              //
	LockP50          Metric = "lock_p50_us"         // of Lock alone
	HandoffsPerS     Metric = "handoffs_per_s"      // changes of the holder
	Fairness         Metric = "fairness"            // ratio of the busiest worker to the idlest
	BytesPerLock     Metric = "bytes_per_lock"      // of the servers' memory
	Violations       Metric = "violations"          // a worker entered while another was inside
	Errors           Metric = "errors"              // calls that failed
	PingMicros       Metric = "ping_us"             // median, measured just before
	PredictedOpsPerS Metric = "predicted_ops_per_s" // see Predict

	ClientCPU            Metric = "client_cpu_us"         // of the workers' process, per lock taken
	ServerCPU            Metric = "server_cpu_us"         // of the servers' processes
	ClientAllocs         Metric = "client_allocs"         // objects allocated by the workers' process, per lock taken
	HeapBytesPerLock     Metric = "heap_bytes_per_lock"   // of the servers' heaps
	MessagesPerLock      Metric = "messages_per_lock"     // between the workers' own member and others, both ways
	PredictedBy          Metric = "predicted_by"          // number of sequential messages in the formula: the 3 of 1/(W+3T)
	Utilisation          Metric = "utilisation"           // share of the time in which the lock is in use, with think times
	PredictedUtilisation Metric = "predicted_utilisation" // see Predict

	// Of locks in a store; see [RequestCounter].
	WritesPerLock Metric = "writes_per_lock"
	ReadsPerLock  Metric = "reads_per_lock"
	TriesWon      Metric = "tries_won"   // locks per write that was to take one; more than 1 if some need none
	OfPossible    Metric = "of_possible" // hand-offs relative to the maximum that the think time allows, with Hot
)

// rowMetrics are those of a row, detailMetrics the additional ones of a detail.
var (
	rowMetrics = []Metric{
		OpsPerS, P50, P99, Max, LockP50, HandoffsPerS, Fairness, BytesPerLock, Violations, Errors, PingMicros, PredictedOpsPerS,
		Count, OfLimit, WritesPerLock, ReadsPerLock, TriesWon, OfPossible,
	}
	detailMetrics = []Metric{ClientCPU, ServerCPU, ClientAllocs, HeapBytesPerLock, MessagesPerLock, PredictedBy, Utilisation, PredictedUtilisation}
)

// Figures are the results of one measurement. Metrics that do not apply are absent.
type Figures map[Metric]float64

// Row has the results of all rounds for one cell of one target.
type Row struct {
	Target string
	Cell   Cell
	Rounds []Figures
}

// values returns the values of a metric in all rounds, sorted.
func (r *Row) values(m Metric) (values []float64) {
	for _, figures := range r.Rounds {
		if value, ok := figures[m]; ok {
			values = append(values, value)
		}
	}
	slices.Sort(values)
	return values
}

// Figure returns the median of all rounds, or their sum for violations and errors. It is false if the metric does not
// apply.
func (r *Row) Figure(m Metric) (float64, bool) {
	values := r.values(m)
	switch {
	case len(values) == 0:
		return 0, false
	case m == Violations || m == Errors:
		sum := 0.0
		for _, value := range values {
			sum += value
		}
		return sum, true
	}
	return Median(values), true
}

// Median returns the median of at least one value.
func Median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	middle := len(values) / 2
	if len(values)%2 == 1 {
		return values[middle]
	}
	return (values[middle-1] + values[middle]) / 2
}

// spread returns the smallest and the largest value of all rounds.
func (r *Row) spread(m Metric) (smallest, largest float64, ok bool) {
	values := r.values(m)
	if len(values) == 0 {
		return 0, 0, false
	}
	return values[0], values[len(values)-1], true
}
