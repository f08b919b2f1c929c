// Package option describes what a space of a protocol can be configured with.
//
// A protocol has a struct of its options, and a method that lists them: each Option binds a field of the struct to a
// name, the values that are allowed, a default and a sentence. What reads configuration, prints it, compares that of two
// members or documents it uses this list, so an option is declared once. The model is package flag.
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
// The zero value of a field always means that the option is left out.
package option
