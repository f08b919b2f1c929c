package soak

import (
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/internal/load"
)

// Trend is the trend of a figure.
type Trend struct {
	Process string // "cluster" for the members' shared figures
	Figure  string
	First   float64 // median of the first quarter after the warm-up; of the heap, the minimum
	Last    float64 // that of the last quarter
	Allowed float64 // upper limit of Last
	PerHour float64 // by least squares
	Judged  bool
}

// Grew reports whether the figure is not flat.
func (t Trend) Grew() bool { return t.Judged && t.Last > t.Allowed }

// The parameters of the rule; see the package comment.
const (
	leastTime    = time.Minute
	leastSamples = 8
	warming      = 10 // one part in this many
	growth       = 1.1
)

// figure is a judged figure.
type figure struct {
	name      string
	allowance float64
	typical   func(values []float64) float64 // of a quarter
	ofProcess func(Process) float64
	ofCluster func(Sample) float64
}

func figures() []figure {
	const mebibyte = 1 << 20
	return []figure{
		{name: "resident_bytes", typical: load.Median, allowance: 4 * mebibyte, ofProcess: func(p Process) float64 { return float64(p.Resident) }},
		{name: "heap_bytes", typical: slices.Min[[]float64], allowance: mebibyte, ofProcess: func(p Process) float64 { return float64(p.Heap) }},
		{name: "goroutines", typical: load.Median, allowance: 16, ofProcess: func(p Process) float64 { return float64(p.Goroutines) }},
		{name: "descriptors", typical: load.Median, allowance: 16, ofProcess: func(p Process) float64 { return float64(p.Files) }},
		{name: "sessions", typical: load.Median, allowance: 8, ofCluster: func(s Sample) float64 { return float64(s.Sessions) }},
		{name: "locks", typical: load.Median, allowance: 32, ofCluster: func(s Sample) float64 { return float64(s.Locks) }},
		{name: "waiters", typical: load.Median, allowance: 32, ofCluster: func(s Sample) float64 { return float64(s.Waiters) }},
	}
}

// Trends compares the first quarter with the last one. A figure that was never above 0 is unknown, or absent, and left
// out.
func (r *Result) Trends() (trends []Trend) {
	if len(r.Samples) == 0 {
		return nil
	}
	samples := slices.DeleteFunc(slices.Clone(r.Samples), func(s Sample) bool { return s.At < r.Took/warming })
	judged := r.Judged()
	for _, f := range figures() {
		if f.ofCluster != nil {
			trends = append(trends, f.trend("cluster", samples, judged, f.ofCluster)...)
			continue
		}
		for _, p := range r.Samples[0].Processes {
			trends = append(trends, f.trend(p.Name, samples, judged, func(s Sample) float64 {
				i := slices.IndexFunc(s.Processes, func(other Process) bool { return other.Name == p.Name })
				if i < 0 {
					return 0
				}
				return f.ofProcess(s.Processes[i])
			})...)
		}
	}
	return trends
}

// Judged reports whether there is enough data to judge growth.
func (r *Result) Judged() bool {
	counted := 0
	for _, s := range r.Samples {
		if s.At >= r.Took/warming {
			counted++
		}
	}
	return counted >= leastSamples && r.Took >= leastTime
}

func (f figure) trend(process string, samples []Sample, judged bool, value func(Sample) float64) []Trend {
	var values []float64
	for _, s := range samples {
		values = append(values, value(s))
	}
	if len(values) == 0 || slices.Max(values) <= 0 {
		return nil
	}
	quarter := max(len(values)/4, 1)
	t := Trend{Process: process, Figure: f.name, Judged: judged, PerHour: slope(samples, values)}
	t.First, t.Last = f.typical(values[:quarter]), f.typical(values[len(values)-quarter:])
	t.Allowed = t.First*growth + f.allowance
	return []Trend{t}
}

// slope returns the slope of a fitted line per hour.
func slope(samples []Sample, values []float64) float64 {
	var meanAt, meanValue float64
	for i, s := range samples {
		meanAt += s.At.Hours() / float64(len(samples))
		meanValue += values[i] / float64(len(samples))
	}
	var together, spread float64
	for i, s := range samples {
		at := s.At.Hours() - meanAt
		together += at * (values[i] - meanValue)
		spread += at * at
	}
	if spread == 0 {
		return 0
	}
	return together / spread
}
