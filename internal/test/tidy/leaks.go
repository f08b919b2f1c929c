package tidy

import (
	"go/ast"
	"maps"
	"slices"
)

// leaks finds packages whose tests do not check for leaked goroutines. It does not matter which packages start some:
// those above the rules may at any time, and most do so indirectly. The code of the rules may not, but their tests may.
func leaks(t *Tree) (found []Finding) {
	tested, starting, verified := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, f := range t.Go() {
		folder := f.Folder()
		if !f.Test() {
			continue
		}
		tested[folder] = true
		starting[folder] = starting[folder] || starts(f)
		verified[folder] = verified[folder] || verifies(f)
	}
	for _, folder := range slices.Sorted(maps.Keys(tested)) {
		if verified[folder] || isRules(folder) && !starting[folder] {
			continue
		}
		at := folder
		if at == "" {
			at = "."
		}
		found = append(found, Finding{at, 0, "no test of this package looks for goroutines that are left",
			"give it a TestMain that calls goleak.VerifyTestMain"})
	}
	return found
}

// starts reports whether f starts a goroutine: by a go statement, or by the method Go of a group.
func starts(f *File) (found bool) {
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			method, ok := n.Fun.(*ast.SelectorExpr)
			found = found || ok && method.Sel.Name == "Go"
		}
		return !found
	})
	return found
}

// verifies reports whether f has a TestMain, or a function that one calls, that checks for leaks.
func verifies(f *File) bool {
	return slices.ContainsFunc(uses(f, "go.uber.org/goleak"), func(used *ast.SelectorExpr) bool {
		return used.Sel.Name == "VerifyTestMain"
	})
}
