package tidy

import (
	"go/ast"
	"strconv"
)

const (
	maxFunction     = 70
	maxFile         = 500
	maxTestFile     = 800
	maxArchitecture = 130
)

// functionLength finds functions that are too long, from their func to their last
// brace.
func functionLength(t *Tree) (found []Finding) {
	for _, f := range t.Go() {
		for _, declared := range f.AST.Decls {
			function, ok := declared.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := f.Line(function.End()) - f.Line(function.Pos()) + 1; n > maxFunction {
				found = append(found, f.find(function.Pos(), "give its steps names of their own",
					"function %s has %d lines, %d are allowed", function.Name.Name, n, maxFunction))
			}
		}
	}
	return found
}

// fileLength finds files that are too long.
func fileLength(t *Tree) (found []Finding) {
	for _, f := range t.Files {
		allowed, fix := 0, "move one subject to a file of its own"
		switch {
		case f.Path == "ARCHITECTURE.md":
			allowed, fix = maxArchitecture, "move what is only true of one package to its doc.go, and a decision to docs/decisions"
		case f.AST == nil || f.Generated():
			continue
		case f.Test():
			allowed = maxTestFile
		default:
			allowed = maxFile
		}
		if n := lines(f.Source); n > allowed {
			found = append(found, Finding{f.Path, allowed + 1, plural(n) + ", " + plural(allowed) + " are allowed", fix})
		}
	}
	return found
}

func plural(n int) string { return strconv.Itoa(n) + " lines" }
