package access

import "fmt"

// assertion is what a file says about itself.
type assertion struct {
	line        int
	subject     Subject
	verb        Verb
	space, name string // as of Target
	allowed     bool
}

// Failure is an assertion that does not hold.
type Failure struct {
	Line     int
	Allowed  bool // what the file says
	Decision Decision
}

// String returns the failure as a sentence.
func (f Failure) String() string {
	wanted := "denied"
	if f.Allowed {
		wanted = "allowed"
	}
	return fmt.Sprintf("line %d: it must be %s, but %v", f.Line, wanted, f.Decision)
}

// Assertions returns the number of assertions of the file; one with several verbs and names counts as several.
func (p *Policy) Assertions() int { return len(p.assertions) }

// Test checks the assertions that the file has about itself, and returns those that do not hold, in its order.
func (p *Policy) Test() (failures []Failure) {
	for _, a := range p.assertions {
		d := Decision{Subject: a.subject.Name, Verb: a.verb, Space: a.space, Name: a.name}
		if d.of(p.Rights(a.subject)) != a.allowed {
			failures = append(failures, Failure{a.line, a.allowed, p.explain(a.subject, d)})
		}
	}
	return failures
}

// Target returns the space and the name that [Policy.Explain] takes for what a person writes: the name "**" is the space
// as a whole, and with the space "*" it is the whole cluster.
func Target(space, name string) (string, string) {
	if name != "**" {
		return space, name
	}
	if space == "*" {
		return "", ""
	}
	return space, ""
}
