package soak

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/internal/load"
)

// Tables returns the result as tables: a line for each sample, the count of each kind of load, and the trends.
func (r *Result) Tables() []load.Table {
	kinds := load.Table{Header: []string{"KIND", "TURNS"}}
	for _, kind := range allKinds() {
		kinds.Rows = append(kinds.Rows, []string{string(kind), strconv.FormatUint(r.Counts[kind], 10)})
	}
	trends := load.Table{Header: []string{"PROCESS", "FIGURE", "FIRST-QUARTER", "LAST-QUARTER", "ALLOWED", "SLOPE/h", "RESULT"}}
	for _, t := range r.Trends() {
		trends.Rows = append(trends.Rows, []string{t.Process, t.Figure, t.format(t.First), t.format(t.Last), t.format(t.Allowed), t.format(t.PerHour), t.result()})
	}
	return []load.Table{r.samples(), kinds, trends}
}

// samples returns the table over time. A cell of a process is its resident memory and its heap in MiB, its goroutines
// and its descriptors; unknown values are a dash.
func (r *Result) samples() load.Table {
	t := load.Table{Header: []string{"AT", "TURNS/s", "SESSIONS", "LOCKS", "WAITERS", "VIOLATIONS", "ERRORS"}}
	var before Sample
	for _, s := range r.Samples {
		row := []string{
			s.At.Round(100 * time.Millisecond).String(), fmt.Sprintf("%.0f", float64(s.Turns-before.Turns)/(s.At-before.At).Seconds()),
			strconv.Itoa(s.Sessions), strconv.Itoa(s.Locks), strconv.Itoa(s.Waiters),
			strconv.FormatUint(s.Violations, 10), strconv.FormatUint(s.Errors, 10),
		}
		for i, p := range s.Processes {
			if len(t.Header) <= len(row) {
				t.Header = append(t.Header, heading(p.Name))
			}
			row = append(row, s.Processes[i].cell())
		}
		t.Rows = append(t.Rows, row)
		before = s
	}
	return t
}

func heading(process string) string {
	return strings.ToUpper(strings.ReplaceAll(process, " ", "-")) + " RSS/HEAP/GOROUTINES/FILES"
}

func (p Process) cell() string {
	count := func(n int) string {
		if n == 0 {
			return "-"
		}
		return strconv.Itoa(n)
	}
	return mebibytes(float64(p.Resident)) + "/" + mebibytes(float64(p.Heap)) + "/" + count(p.Goroutines) + "/" + count(p.Files)
}

func mebibytes(bytes float64) string {
	if bytes == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1fM", bytes/(1<<20))
}

// format formats a value of the figure for people.
func (t Trend) format(value float64) string {
	if strings.HasSuffix(t.Figure, "_bytes") {
		return fmt.Sprintf("%.2fM", value/(1<<20))
	}
	return fmt.Sprintf("%.1f", value)
}

func (t Trend) result() string {
	switch {
	case !t.Judged:
		return "not judged"
	case t.Grew():
		return "GREW"
	}
	return "flat"
}

// line is a sample in JSON.
type line struct {
	At         float64   `json:"at_s"`
	Turns      uint64    `json:"turns"`
	Sessions   int       `json:"sessions"`
	Locks      int       `json:"locks"`
	Waiters    int       `json:"waiters"`
	Violations uint64    `json:"violations"`
	Errors     uint64    `json:"errors"`
	Processes  []process `json:"processes"`
}

type process struct {
	Name       string  `json:"name"`
	CPU        float64 `json:"cpu_s,omitempty"`
	Resident   int64   `json:"resident_bytes,omitempty"`
	Heap       int64   `json:"heap_bytes,omitempty"`
	Goroutines int     `json:"goroutines,omitempty"`
	Files      int     `json:"descriptors,omitempty"`
}

// trend is a trend in JSON.
type trend struct {
	Process string  `json:"process"`
	Figure  string  `json:"figure"`
	First   float64 `json:"first_quarter"`
	Last    float64 `json:"last_quarter"`
	Allowed float64 `json:"allowed"`
	PerHour float64 `json:"per_hour"`
	Judged  bool    `json:"judged"`
	Grew    bool    `json:"grew"`
}

// Sections returns the result's sections of a document: "soak", the samples; "soak_kinds" and "soak_trends".
func (r *Result) Sections() []load.Section {
	samples, kinds, trends := load.Section{Name: "soak"}, load.Section{Name: "soak_kinds"}, load.Section{Name: "soak_trends"}
	for _, s := range r.Samples {
		l := line{s.At.Round(time.Millisecond).Seconds(), s.Turns, s.Sessions, s.Locks, s.Waiters, s.Violations, s.Errors, nil}
		for _, p := range s.Processes {
			l.Processes = append(l.Processes, process{p.Name, p.CPU.Seconds(), p.Resident, p.Heap, p.Goroutines, p.Files})
		}
		samples.Lines = append(samples.Lines, l)
	}
	for _, kind := range allKinds() {
		kinds.Lines = append(kinds.Lines, struct {
			Kind  Kind   `json:"kind"`
			Turns uint64 `json:"turns"`
		}{kind, r.Counts[kind]})
	}
	for _, t := range r.Trends() {
		trends.Lines = append(trends.Lines, trend{t.Process, t.Figure, t.First, t.Last, t.Allowed, t.PerHour, t.Judged, t.Grew()})
	}
	return []load.Section{samples, kinds, trends}
}
