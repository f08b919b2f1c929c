// Package option describes the configuration options of a protocol's spaces.
//
// A protocol has a struct of its options, and a method that lists them: each Option binds a field of the struct to a
// name, the allowed values, a default and a sentence. Code that reads, prints, compares or documents configuration uses
// this list, so an option is declared once. The model is package flag.
//
//	type Options struct{ Placement time.Duration }
//
//	func (o *Options) List() option.List {
//		return option.List{{
//			Name: "placement", Default: "off", Help: "…",
//			Value: option.Duration{At: &o.Placement, Least: time.Second, Most: time.Hour,
//				Words: option.Words{{Text: "off"}, {Text: "on", Number: int64(10 * time.Second)}}},
//		}}
//	}
//
// The zero value of a field always means that the option is unset.
package option
