package load

import (
	"math"
	"slices"
)

// Aim is one target value of Holdfast, with the measured one.
type Aim struct {
	Name     string
	Measured float64 // median of the rounds
	Smallest float64 // minimum of the rounds
	Largest  float64
	Wanted   float64 // maximum or minimum
	AtLeast  bool
}

// met reports whether the measured figure, to two decimals, is at least as good as the wanted one.
func (a Aim) met() bool {
	measured := math.Round(a.Measured*100) / 100
	if a.AtLeast {
		return measured >= a.Wanted
	}
	return measured <= a.Wanted
}

// reading returns a figure of one round, NaN if there is none.
type reading func(target string, cell Cell, m Metric) float64

// aimed is a line of the table of aims: the wanted value, and its formula from the figures of one round. Exactly one of
// most and least is given.
type aimed struct {
	name        string
	most, least float64
	value       func(at reading) float64
}

// aims returns that table. Ratios are taken within a round, whose two figures come from the same conditions.
func aims() []aimed {
	one, some, many := Cell{Workload: Uncontended, Workers: 1}, Cell{Workload: Uncontended, Workers: 64}, Cell{Workload: Uncontended, Workers: 512}
	hot, queue, kept := Cell{Workload: Hot, Workers: 64}, Cell{Workload: Drain, Workers: 1000}, Cell{Workload: Hold, Workers: holders}
	again := Cell{Workload: Hot, Workers: 1} // one name, by one member
	share := func(target, of string, cell Cell, m Metric) func(reading) float64 {
		return func(at reading) float64 { return at(target, cell, m) / at(of, cell, m) }
	}
	lost := func(target, of string, cell Cell, m Metric) func(reading) float64 {
		return func(at reading) float64 { return 100 * (1 - at(target, cell, m)/at(of, cell, m)) }
	}
	return []aimed{
		{name: "local, 1 worker: µs a cycle", most: 1, value: func(at reading) float64 { return 1e6 / at("local", one, OpsPerS) }},
		{name: "local, 1 worker: allocations a cycle", most: 2, value: func(at reading) float64 { return at("local", one, ClientAllocs) }},
		{name: "local, 64 workers: cycles/s", least: 2e6, value: func(at reading) float64 { return at("local", some, OpsPerS) }},
		{name: "remote, 1 worker: p50 of a cycle, of two raw ping-pongs", most: 2.5, value: func(at reading) float64 { return at("remote", one, P50) / (2 * at("raw", one, P50)) }},
		{name: "remote, 64 workers: cycles/s, of limit", least: 0.4, value: share("remote", yardstick, some, OpsPerS)},
		{name: "remote, 512 workers: cycles/s, of limit", least: 0.4, value: share("remote", yardstick, many, OpsPerS)},
		{name: "remote, hot, 64 workers: hand-offs/s, of limit", least: 0.6, value: share("remote", yardstick, hot, HandoffsPerS)},
		{name: "remote, hot, 64 workers: fairness", most: 1.02, value: func(at reading) float64 { return at("remote", hot, Fairness) }},
		{name: "remote, hot, 64 workers: longest wait, of the median", most: 3, value: func(at reading) float64 { return at("remote", hot, Max) / at("remote", hot, P50) }},
		{name: "remote, drain, 1000 waiters: time, of limit", most: 3, value: share("remote", yardstick, queue, Max)},
		{name: "remote, hold: bytes of server memory a lock", most: 250, value: func(at reading) float64 { return at("remote", kept, BytesPerLock) }},
		{name: "central-member, 1 worker: p50 of a cycle, of central", most: 2.2, value: share("central-member", "central", one, P50)},
		{name: "central-member, 64 workers: time a cycle, of central", most: 2.2, value: share("central", "central-member", some, OpsPerS)},
		{name: "central-member, 512 workers: time a cycle, of central", most: 2.2, value: share("central", "central-member", many, OpsPerS)},
		{name: "central-member, hot, 64 workers: time a hand-off, of central", most: 2.2, value: share("central", "central-member", hot, HandoffsPerS)},
		{name: "local-grantor, 1 worker: p50 of a cycle, of local", most: 1.1, value: share("local-grantor", "local", one, P50)},
		{name: "grantor-kept, hot, 1 worker: p50 of a lock, µs", most: 2, value: func(at reading) float64 { return at("grantor-kept", again, P50) }},
		{name: "grantor-kept, hot, 1 worker: µs a lock and its unlock", most: 2, value: func(at reading) float64 { return 1e6 / at("grantor-kept", again, OpsPerS) }},
		{name: "grantor-kept, hot, 1 worker: messages a lock", most: 0.01, value: func(at reading) float64 { return at("grantor-kept", again, MessagesPerLock) }},
		{name: "remote-access, 1 worker: p50 of a cycle, % more than remote", most: 2, value: func(at reading) float64 { return 100 * (at(policed, one, P50)/at("remote", one, P50) - 1) }},
		{name: "remote-tls, 64 workers: throughput lost, % of remote", most: 25, value: lost("remote-tls", "remote", some, OpsPerS)},
		{name: "remote-tls, 512 workers: throughput lost, % of remote", most: 25, value: lost("remote-tls", "remote", many, OpsPerS)},
		{name: "remote-tls, hot, 64 workers: throughput lost, % of remote", most: 25, value: lost("remote-tls", "remote", hot, HandoffsPerS)},
	}
}

// policed is the target whose member has a policy of many rules.
const policed = "remote-access"

// compare compares the result with the table. Figures that were not measured are left out.
func (r *Result) compare() (found []Aim) {
	for _, a := range aims() {
		values := r.rounds(a.value)
		if len(values) == 0 {
			continue
		}
		found = append(found, Aim{
			Name: a.name, Measured: Median(values), Smallest: values[0], Largest: values[len(values)-1],
			Wanted: max(a.most, a.least), AtLeast: a.least > 0,
		})
	}
	return found
}

// rounds computes a value for each round, and returns the available ones, sorted.
func (r *Result) rounds(value func(at reading) float64) (values []float64) {
	count := 0
	for _, row := range r.Rows {
		count = max(count, len(row.Rounds))
	}
	for round := range count {
		v := value(func(target string, cell Cell, m Metric) float64 { return r.read(round, target, cell, m) })
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	return values
}

// read returns a figure of one round.
func (r *Result) read(round int, target string, cell Cell, m Metric) float64 {
	for _, row := range r.Rows {
		if row.Target != target || row.Cell != cell || round >= len(row.Rounds) {
			continue
		}
		if value, ok := row.Rounds[round][m]; ok {
			return value
		}
	}
	return math.NaN()
}

// AimTable returns the aims as a table, without rows if there are none.
func (r *Result) AimTable() Table {
	t := Table{Header: []string{"TARGETS", "MEASURED", "[MIN–MAX]", "WANTED", "RESULT"}}
	for _, a := range r.Aims {
		wanted, result := "≤ ", "missed"
		if a.AtLeast {
			wanted = "≥ "
		}
		if a.met() {
			result = "met"
		}
		t.Rows = append(t.Rows, []string{a.Name, short(a.Measured), "[" + short(a.Smallest) + "–" + short(a.Largest) + "]", wanted + short(a.Wanted), result})
	}
	return t
}

func (a Aim) object() object {
	bound := "at_most"
	if a.AtLeast {
		bound = "at_least"
	}
	return object{
		{"name", a.Name}, {"measured", rounded(a.Measured)}, {"spread", []float64{rounded(a.Smallest), rounded(a.Largest)}},
		{bound, a.Wanted}, {"met", a.met()},
	}
}
