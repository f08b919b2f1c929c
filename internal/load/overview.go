package load

import "strconv"

// Metrics that only some rows have.
const (
	// Count is how many locks there were, with Hold, and how many workers or waiters, of a
	// target that is [Bounded].
	Count Metric = "count"
	// OfLimit is the chief figure of a row for each of the same figure of limit: locks each
	// second, and hand-offs where several want one name. See [Result.Relate].
	OfLimit Metric = "of_limit"
)

// chief is the metric by which a cell is judged.
func chief(cell Cell) Metric {
	if cell.Workload == Drain || cell.Workload == Hot && !cell.alone() {
		return HandoffsPerS
	}
	return OpsPerS
}

// Relate gives the rows of every cell that limit has, too, the figure [OfLimit]. It is
// taken within each round, whose two figures have met the same machine.
func (r *Result) Relate() {
	for _, stick := range r.Rows {
		if stick.Target != yardstick {
			continue
		}
		m := chief(stick.Cell)
		for _, row := range r.Rows {
			if row.Cell != stick.Cell {
				continue
			}
			for round := range min(len(row.Rounds), len(stick.Rounds)) {
				value, ok := row.Rounds[round][m]
				if most := stick.Rounds[round][m]; ok && most > 0 {
					row.Rounds[round][OfLimit] = value / most
				}
			}
		}
	}
}

// Overview lays the whole result out as one table, cell by cell. P50, P99 and MAX are of
// the time that [P50] is of.
func (r *Result) Overview() Table {
	columns := []column{
		{"WORKLOAD", func(_ *Result, row *Row) string { return row.Cell.Workload }},
		{"COUNT", counted},
		{"THINK", func(_ *Result, row *Row) string { return row.Cell.Think.String() }},
		{"TARGET", func(_ *Result, row *Row) string { return row.Target }},
		figure("LOCKS/s", OpsPerS), spread(OpsPerS), figure("HAND-OFFS/s", HandoffsPerS), {"OF-LIMIT", related},
		figure("P50-µs", P50), figure("P99-µs", P99), figure("MAX-µs", Max), figure("FAIRNESS", Fairness),
		figure("BYTES/LOCK", BytesPerLock), figure("CLIENT-CPU-µs", ClientCPU), figure("SERVER-CPU-µs", ServerCPU),
		figure("VIOLATIONS", Violations), figure("ERRORS", Errors),
	}
	return r.lay(append(columns, r.requestColumns("")...), func(*Row) bool { return true })
}

// related is OfLimit with enough digits for what is far from it.
func related(_ *Result, row *Row) string {
	switch value, ok := row.Figure(OfLimit); {
	case !ok:
		return ""
	case value < 0.1:
		return strconv.FormatFloat(value, 'f', 4, 64)
	default:
		return strconv.FormatFloat(value, 'f', 2, 64)
	}
}

// counted is how many workers, waiters or locks there were, and of how many where the
// target is bounded.
func counted(_ *Result, row *Row) string {
	count, known := row.Figure(Count)
	switch wanted := strconv.Itoa(row.Cell.Workers); {
	case !known:
		return wanted
	case row.Cell.Workload == Hold:
		return strconv.Itoa(int(count))
	default:
		return strconv.Itoa(int(count)) + " of " + wanted
	}
}
