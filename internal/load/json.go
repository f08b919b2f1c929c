package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"
)

// Host is the machine that the figures hold for.
type Host struct {
	System  string `json:"system"`
	Machine string `json:"machine"`
	CPUs    int    `json:"cpus"`
	Go      string `json:"go"`
	Version string `json:"version"` // of Holdfast
	Pinned  bool   `json:"pinned"`  // one worker and its servers shared one CPU
}

// object is a JSON object whose fields keep their order.
type object []field

type field struct {
	name  string
	value any
}

// MarshalJSON makes an object a json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	var text bytes.Buffer
	text.WriteByte('{')
	for i, f := range o {
		value, err := json.Marshal(f.value)
		if err != nil {
			return nil, fmt.Errorf("write field %s: %w", f.name, err)
		}
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, "%q:%s", f.name, value)
	}
	text.WriteByte('}')
	return text.Bytes(), nil
}

// rounded keeps three decimals: more would only look exact.
func rounded(value float64) float64 { return math.Round(value*1000) / 1000 }

func (r *Row) object(metrics []Metric) object {
	o := object{{"target", r.Target}, {"workload", r.Cell.Workload}, {"workers", r.Cell.Workers}}
	for _, m := range metrics {
		if value, ok := r.Figure(m); ok {
			o = append(o, field{string(m), rounded(value)})
		}
	}
	return o
}

// detail is a row with all that is known of it.
func (r *Row) detail() object {
	o := append(r.object(rowMetrics), field{"think_ms", rounded(float64(r.Cell.Think) / float64(time.Millisecond))})
	for _, m := range detailMetrics {
		if value, ok := r.Figure(m); ok {
			o = append(o, field{string(m), rounded(value)})
		}
	}
	var spread object
	for _, metrics := range [][]Metric{rowMetrics, detailMetrics} {
		for _, m := range metrics {
			if smallest, largest, ok := r.Spread(m); ok {
				spread = append(spread, field{string(m), []float64{rounded(smallest), rounded(largest)}})
			}
		}
	}
	return append(o, field{"rounds", len(r.Rounds)}, field{"spread", spread})
}

// WriteJSON writes the result as one document, {"machine","rows","details"}: a row has
// the fields that formats.md names and is of a cell without think time, so that target,
// workload and workers are its key; the details have all cells, with think_ms, the CPU
// and heap figures, and the smallest and largest figure of all rounds. Each is a line.
func (r *Result) WriteJSON(to io.Writer, host Host) error {
	rows, details := []object{}, []object{}
	for _, row := range r.Rows {
		if row.Cell.Think == 0 {
			rows = append(rows, row.object(rowMetrics))
		}
		details = append(details, row.detail())
	}
	machine, err := json.Marshal(host)
	if err != nil {
		return fmt.Errorf("write the machine: %w", err)
	}
	text := bytes.NewBufferString(`{"machine":`)
	text.Write(machine)
	for _, list := range []struct {
		name    string
		objects []object
	}{{"rows", rows}, {"details", details}} {
		fmt.Fprintf(text, ",\n%q:[", list.name)
		for i, o := range list.objects {
			line, err := o.MarshalJSON()
			if err != nil {
				return err
			}
			if i > 0 {
				text.WriteByte(',')
			}
			text.WriteByte('\n')
			text.Write(line)
		}
		text.WriteString("\n]")
	}
	text.WriteString("}\n")
	if _, err := text.WriteTo(to); err != nil {
		return fmt.Errorf("write the figures: %w", err)
	}
	return nil
}
