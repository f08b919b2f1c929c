package sim

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// TestTheUniverseIsComplete: every message that has a String of its own in a
// messages.go is listed, so that none can go unhit unseen.
func TestTheUniverseIsComplete(t *testing.T) {
	listed := map[string]bool{}
	for _, name := range []string{"grantor", "permission", "bakery"} {
		p, _ := Find(name)
		for _, m := range append(p.below(), p.sent()...) {
			listed[fmt.Sprintf("%T", m)] = true
		}
	}
	parts := map[string]bool{"authority.Stamp": true, "authority.Ended": true, "authority.Version": true, "grantor.Place": true, "grantor.Kind": true, "grantor.Beginning": true, "permission.Stamp": true, "local.Tag": true} // of messages
	for _, part := range []string{"Key", "Term", "Election", "Choosing", "Vote", "Refusal", "Failure"} {
		parts["bakery."+part] = true
	}
	parts["bakery.Exhausted"] = true // which takes 2³² grants
	for _, path := range []string{"../internal/member/election/messages.go", "../internal/member/membership/messages.go", "../protocol/authority/messages.go", "../protocol/local/messages.go", "../protocol/grantor/messages.go", "../protocol/permission/messages.go", "../protocol/bakery/messages.go", "../protocol/bakery/text.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range file.Decls {
			f, ok := declared.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != "String" {
				continue
			}
			if _, part := f.Recv.List[0].Type.(*ast.StarExpr); part {
				continue
			}
			name := fmt.Sprintf("%s.%v", file.Name, f.Recv.List[0].Type)
			if !listed[name] && !parts[name] {
				t.Errorf("%s has a message %s that no universe lists", path, name)
			}
		}
	}
}

// TestCoverageNamesWhatWasNeverHit: a run without faults hits no fault.
func TestCoverageNamesWhatWasNeverHit(t *testing.T) {
	c := config("central")
	c.Coverage = true
	s, err := RunMany(c, 1, 2, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := s.WriteCoverage(&out, &c); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{"fault    delay ", "message  membership.Poll ", "handler  space raised *protocol.View ", "handler  sessions tick "} {
		if !strings.Contains(text, want) {
			t.Errorf("coverage does not list %q:\n%s", want, text)
		}
	}
	s.counts = newCounts(true)
	out.Reset()
	complete, err := s.WriteCoverage(&out, &c)
	if err != nil || complete || !strings.Contains(out.String(), "never hit: ") || !strings.Contains(out.String(), "message membership.Poll;") {
		t.Errorf("%v %v\n%s", complete, err, out.String())
	}
}

// TestWhatIsCountedIsListed: what runs of any protocol hit is a row of the coverage of some protocol.
func TestWhatIsCountedIsListed(t *testing.T) {
	t.Parallel()
	listed, hits := map[mark]bool{chain(1): true}, map[mark]int{} // a table through one successor is what a transfer is
	for _, p := range Protocols() {
		for _, faults := range []Faults{0, Within} {
			c := config(p.Name)
			c.Faults = faults
			s, err := RunMany(c, 1, 4, 2, nil)
			if err != nil {
				t.Fatal(err)
			}
			sumBy(hits, s.counts.hits)
			for _, m := range c.marks() {
				listed[m] = true
			}
		}
	}
	for m, n := range hits {
		if !listed[m] {
			t.Errorf("%q of %q was hit %d times, and is no row", m.name, m.sort, n)
		}
	}
}
