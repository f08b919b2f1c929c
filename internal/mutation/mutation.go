package mutation

// off is the name of the rule that is switched off, and empty while all are on.
var off = ""

// Off reports whether rule is the one that is switched off. It is inlined, and the name of
// a rule is a constant: what is left where a rule stands is one comparison of off's length
// with a number, which nothing but a rule that is switched off passes.
func Off(rule string) bool { return off == rule }

// Switch switches one rule off, and any other on; "" switches all on. It is called while
// no machine is running: what is set is not watched.
func Switch(rule string) { off = rule }
