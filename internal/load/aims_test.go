package load

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
)

// rowOf is a row with a figure in each of some rounds.
func rowOf(target string, cell Cell, m Metric, values ...float64) *Row {
	row := &Row{Target: target, Cell: cell}
	for _, value := range values {
		row.Rounds = append(row.Rounds, Figures{m: value})
	}
	return row
}

// TestAims: ratios are those of rounds, the bound itself is met, and what was not measured
// is not judged.
func TestAims(t *testing.T) {
	many, hot := Cell{Uncontended, 64, 0}, Cell{Hot, 64, 0}
	r := &Result{Rows: []*Row{
		rowOf("limit", many, OpsPerS, 100_000, 300_000, 200_000),
		rowOf("remote", many, OpsPerS, 40_000, 90_000, 90_000),     // 0.40, 0.30, 0.45
		rowOf("remote-tls", many, OpsPerS, 20_000, 90_000, 66_600), // half, nothing and 26 % less
		rowOf("remote", hot, Fairness, 1.0249),
		rowOf("local", Cell{Uncontended, 1, 0}, OpsPerS, 1_250_000),
		rowOf("remote", Cell{Uncontended, 1, 0}, P50, 50, 50, 100),
		rowOf("remote-access", Cell{Uncontended, 1, 0}, P50, 50.5, 49, 104), // 1 % more, 2 % less, 4 % more
	}}
	r.Aims = r.compare()
	var got strings.Builder
	for _, row := range r.AimTable().Rows {
		got.WriteString(strings.Join(row, "|") + "\n")
	}
	want := `local, 1 worker: µs a cycle|0.80|[0.80–0.80]|≤ 1|met
remote, 64 workers: cycles/s, of limit|0.40|[0.30–0.45]|≥ 0.40|met
remote, hot, 64 workers: fairness|1.02|[1.02–1.02]|≤ 1.02|met
remote-access, 1 worker: p50 of a cycle, % more than remote|1.00|[-2.00–4.00]|≤ 2|met
remote-tls, 64 workers: throughput lost, % of remote|26|[0–50]|≤ 25|missed
`
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", &got, want)
	}
	var text bytes.Buffer
	if err := r.WriteJSON(&text, Host{}, Section{"more", []any{1, "two"}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"name":"remote, 64 workers: cycles/s, of limit","measured":0.4,"spread":[0.3,0.45],"at_least":0.4,"met":true},` + "\n",
		`,"at_most":25,"met":false}` + "\n],\n" + `"more":[` + "\n1,\n\"two\"\n]}\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
}

// TestAimsAreReadable: each line of the table has one bound, and every cell that it reads
// is measured by default.
func TestAimsAreReadable(t *testing.T) {
	c := Config{Targets: []Target{&fake{}}}
	if err := c.check(); err != nil {
		t.Fatal(err)
	}
	timed, held := c.cells()
	known := map[Cell]bool{}
	for _, cell := range append(timed, held...) {
		known[cell] = true
	}
	for _, a := range aims() {
		if (a.most > 0) == (a.least > 0) {
			t.Errorf("%s: at most %v, at least %v", a.name, a.most, a.least)
		}
		a.value(func(_ string, cell Cell, _ Metric) float64 {
			if !known[cell] {
				t.Errorf("%s: %v is not measured", a.name, cell)
			}
			return 1
		})
	}
}

// hungry allocates as it locks.
type hungry struct{ fake }

func (h *hungry) Connect(ctx context.Context, c Cell) (Client, error) {
	client, err := h.fake.Connect(ctx, c)
	return &hungryClient{Client: client}, err
}

type hungryClient struct {
	Client
	kept []*[64]byte
}

func (c *hungryClient) Worker(context.Context, int) (Locker, error) { return c, nil }

func (c *hungryClient) Lock(context.Context, string) (Held, error) {
	c.kept = c.kept[:0]
	for range 50 {
		c.kept = append(c.kept, new([64]byte))
	}
	return gone{}, nil
}

type gone struct{}

func (gone) Unlock(context.Context) error { return nil }

// TestAllocations: what a cycle allocates in the workers' process is counted.
func TestAllocations(t *testing.T) {
	result, err := Run(t.Context(), Config{
		Targets: []Target{&hungry{fake{name: "local"}}}, Workloads: []string{Uncontended}, Workers: []int{1},
		Think: []time.Duration{0}, Rounds: 1, Duration: 10 * time.Millisecond, Aims: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := result.Rows[0].Figure(ClientAllocs); !ok || got < 49 || got > 150 { // few cycles fit into the time of a busy machine
		t.Errorf("%v allocations a cycle, %v; want 50 and what the measuring itself takes", got, ok)
	}
	if len(result.Aims) != 2 || result.Aims[1].met() {
		t.Errorf("%+v", result.Aims)
	}
}
