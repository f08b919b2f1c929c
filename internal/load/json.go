package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

// Host describes the measured machine.
type Host struct {
	System  string `json:"system"`
	Machine string `json:"machine"`
	CPUs    int    `json:"cpus"`
	Go      string `json:"go"`
	Version string `json:"version"` // of Holdfast
	Pinned  bool   `json:"pinned"`  // one worker and its servers shared one CPU
	// Delay is the artificial delay of each message between members, in microseconds.
	Delay int64 `json:"delay_us,omitempty"`
}

// object is a JSON object with ordered fields.
type object []field

type field struct {
	name  string
	value any
}

// MarshalJSON implements json.Marshaler.
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

// rounded keeps three decimals: more would be false precision.
func rounded(value float64) float64 { return math.Round(value*1000) / 1000 }

func (r *Row) object() object {
	return r.figures(object{{"target", r.Target}, {"workload", r.Cell.Workload}, {"workers", r.Cell.Workers}}, rowMetrics)
}

// figures adds the metrics that the row has.
func (r *Row) figures(o object, metrics []Metric) object {
	for _, m := range metrics {
		if value, ok := r.Figure(m); ok {
			o = append(o, field{string(m), rounded(value)})
		}
	}
	return o
}

// detail returns a row with all its data.
func (r *Row) detail() object {
	o := append(r.object(), field{"think_ms", rounded(float64(r.Cell.Think) / float64(time.Millisecond))})
	o = r.figures(o, detailMetrics)
	var spread object
	for _, m := range slices.Concat(rowMetrics, detailMetrics) {
		if smallest, largest, ok := r.spread(m); ok {
			spread = append(spread, field{string(m), []float64{rounded(smallest), rounded(largest)}})
		}
	}
	return append(o, field{"rounds", len(r.Rounds)}, field{"spread", spread})
}

// Section is a further named list in the document, next to the rows.
type Section struct {
	Name  string
	Lines []any // each is written on a line
}

// WriteJSON writes the result as one document, {"machine","rows","details"}: a row has the fields that
// docs/design/formats.md §3 names and is of a cell without think time, so that target, workload and workers are its
// key; the details have all cells, with think_ms, the CPU, heap and allocation figures, and the smallest and largest
// figure of all rounds. Aims, if any, are the list "targets". More sections follow. Each item is a line.
func (r *Result) WriteJSON(to io.Writer, host Host, more ...Section) error {
	rows, details := Section{Name: "rows"}, Section{Name: "details"}
	for _, row := range r.Rows {
		if row.Cell.Think == 0 {
			rows.Lines = append(rows.Lines, row.object())
		}
		details.Lines = append(details.Lines, row.detail())
	}
	sections := []Section{rows, details}
	if len(r.Aims) > 0 {
		aims := Section{Name: "targets"}
		for _, a := range r.Aims {
			aims.Lines = append(aims.Lines, a.object())
		}
		sections = append(sections, aims)
	}
	machine, err := json.Marshal(host)
	if err != nil {
		return fmt.Errorf("write the machine: %w", err)
	}
	text := bytes.NewBufferString(`{"machine":`)
	text.Write(machine)
	for _, section := range append(sections, more...) {
		if err := section.write(text); err != nil {
			return err
		}
	}
	text.WriteString("}\n")
	if _, err := text.WriteTo(to); err != nil {
		return fmt.Errorf("write the figures: %w", err)
	}
	return nil
}

func (s Section) write(to *bytes.Buffer) error {
	fmt.Fprintf(to, ",\n%q:[", s.Name)
	for i, item := range s.Lines {
		line, err := json.Marshal(item)
		if err != nil {
			return fmt.Errorf("write an item of %s: %w", s.Name, err)
		}
		if i > 0 {
			to.WriteByte(',')
		}
		to.WriteByte('\n')
		to.Write(line)
	}
	to.WriteString("\n]")
	return nil
}
