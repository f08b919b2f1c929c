package load

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Table is a table for people: a header and cells, "" if a figure does not apply.
type Table struct {
	Header []string
	Rows   [][]string
}

// yardstick is the target that others are compared with.
const yardstick = "limit"

// column is a column of a table.
type column struct {
	header string
	cell   func(*Result, *Row) string
}

// Tables returns the result as tables, one for each measured workload.
func (r *Result) Tables() (tables []Table) {
	for _, workload := range Workloads() {
		columns := columnsOf(workload)
		if r.has(workload, Utilisation) {
			columns = append(columns, figure("UTIL", Utilisation), figure("PREDICTED-UTIL", PredictedUtilisation))
		}
		if r.has(workload, MessagesPerLock) {
			columns = append(columns, figure("MESSAGES", MessagesPerLock))
		}
		columns = append(columns, r.requestColumns(workload)...)
		t := r.lay(columns, func(row *Row) bool { return row.Cell.Workload == workload })
		if len(t.Rows) > 0 {
			tables = append(tables, t)
		}
	}
	return tables
}

// lay returns a table of the wanted rows.
func (r *Result) lay(columns []column, wanted func(*Row) bool) (t Table) {
	for _, c := range columns {
		t.Header = append(t.Header, c.header)
	}
	for _, row := range r.Rows {
		if !wanted(row) {
			continue
		}
		var cells []string
		for _, c := range columns {
			cells = append(cells, c.cell(r, row))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// has reports whether a metric was measured in a workload.
func (r *Result) has(workload string, m Metric) bool {
	return slices.ContainsFunc(r.Rows, func(row *Row) bool {
		_, measured := row.Figure(m)
		return measured && row.Cell.Workload == workload
	})
}

// columnsOf lists the columns of a workload, its main figure first.
func columnsOf(workload string) []column {
	columns := []column{
		{"TARGET", func(_ *Result, row *Row) string { return row.Target }},
		{"WORKLOAD", func(_ *Result, row *Row) string { return row.Cell.Workload }},
	}
	by := column{"BY", func(_ *Result, row *Row) string {
		if messages, ok := row.Figure(PredictedBy); ok {
			return formula(int(messages))
		}
		return ""
	}}
	workers := column{"WORKERS", func(_ *Result, row *Row) string { return strconv.Itoa(row.Cell.Workers) }}
	think := column{"THINK", func(_ *Result, row *Row) string { return row.Cell.Think.String() }}
	costs := []column{figure("PING-µs", PingMicros), figure("CLIENT-CPU-µs", ClientCPU), figure("CLIENT-ALLOCS", ClientAllocs), figure("SERVER-CPU-µs", ServerCPU)}
	switch workload {
	case Uncontended:
		columns = append(columns, workers, think, figure("CYCLES/s", OpsPerS), spread(OpsPerS), ratio(OpsPerS), figure("PREDICTED", PredictedOpsPerS), by,
			figure("P50-µs", P50), figure("P99-µs", P99), figure("MAX-µs", Max), figure("LOCK-P50-µs", LockP50))
	case Hot:
		columns = append(columns, workers, think, figure("LOCKS/s", OpsPerS), figure("HAND-OFFS/s", HandoffsPerS), spread(HandoffsPerS), ratio(HandoffsPerS), figure("PREDICTED", PredictedOpsPerS), by,
			figure("WAIT-P50-µs", P50), figure("WAIT-P99-µs", P99), figure("WAIT-MAX-µs", Max), figure("FAIRNESS", Fairness))
	case Drain:
		workers.header = "WAITERS"
		columns = append(columns, workers, column{"TOOK-ms", took}, figure("HAND-OFFS/s", HandoffsPerS), spread(HandoffsPerS), ratio(HandoffsPerS), figure("PREDICTED", PredictedOpsPerS), by,
			figure("WAIT-P50-µs", P50), figure("WAIT-P99-µs", P99))
	case Hold:
		columns = append(columns, figure("BYTES/LOCK", BytesPerLock), spread(BytesPerLock), figure("ON-HEAP", HeapBytesPerLock), figure("LOCKS/s", OpsPerS), spread(OpsPerS), ratio(OpsPerS))
		costs = costs[3:]
	}
	columns = append(columns, costs...)
	if workload == Hot || workload == Drain {
		columns = append(columns, figure("VIOLATIONS", Violations))
	}
	return append(columns, figure("ERRORS", Errors))
}

func figure(header string, m Metric) column {
	return column{header, func(_ *Result, row *Row) string {
		if value, ok := row.Figure(m); ok {
			return short(value)
		}
		return ""
	}}
}

func spread(m Metric) column {
	return column{"[MIN–MAX]", func(_ *Result, row *Row) string {
		if smallest, largest, ok := row.spread(m); ok {
			return "[" + short(smallest) + "–" + short(largest) + "]"
		}
		return ""
	}}
}

// ratio returns a column that compares with the yardstick's figure in the same cell.
func ratio(m Metric) column {
	return column{"OF-LIMIT", func(r *Result, row *Row) string {
		ratios := r.rounds(func(at reading) float64 {
			return at(row.Target, row.Cell, m) / at(yardstick, row.Cell, m)
		})
		if len(ratios) == 0 {
			return ""
		}
		return fmt.Sprintf("%.2f", Median(ratios))
	}}
}

// took returns how long all waiters of Drain took: the last one's wait.
func took(_ *Result, row *Row) string {
	if value, ok := row.Figure(Max); ok {
		return short(value * float64(time.Microsecond) / float64(time.Millisecond))
	}
	return ""
}

// short formats a figure for people, with about three digits.
func short(value float64) string {
	switch {
	case value >= 999_500:
		return fmt.Sprintf("%.2fM", value/1e6)
	case value >= 9_995:
		return fmt.Sprintf("%.1fk", value/1e3)
	case value >= 100 || value == float64(int64(value)):
		return fmt.Sprintf("%.0f", value)
	case value >= 10:
		return fmt.Sprintf("%.1f", value)
	}
	return fmt.Sprintf("%.2f", value)
}
