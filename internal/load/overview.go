package load

import "strconv"

// Metrics that only some rows have.
const (
	// Count is the number of locks, with Hold, and of workers or waiters, of a [Bounded] target.
	Count Metric = "count"
	// OfLimit is the ratio of a row's main figure to that of limit: locks per second, and hand-offs if several want one
	// name. See [Result.Relate].
	OfLimit Metric = "of_limit"
)

// chief returns the main metric of a cell.
func chief(cell Cell) Metric {
	if cell.Workload == Drain || cell.Workload == Hot && !cell.alone() {
		return HandoffsPerS
	}
	return OpsPerS
}

// Relate adds the figure [OfLimit] to the rows of every cell that limit has, too. It is taken within each round, whose
// two figures come from the same conditions.
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

// Overview returns the whole result as one table, cell by cell. P50, P99 and MAX are of the time that [P50] is of.
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

// related formats OfLimit with enough digits for extreme ratios.
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

// counted formats the number of workers, waiters or locks, and the wanted number if the target is bounded.
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
