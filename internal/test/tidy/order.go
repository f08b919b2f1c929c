package tidy

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// mapFunctions of package maps go through a map in its own order.
var mapFunctions = []string{"All", "Keys", "Values", "DeleteFunc"}

// sortFunctions of package slices put what they are given in an order of their own.
var sortFunctions = []string{"Sorted", "SortedFunc", "SortedStableFunc"}

// order finds ranges over maps in rules packages, and iterators over maps that
// are not sorted at once. A range that looks at neither key nor value is fine.
func order(t *Tree) (found []Finding) {
	const fix = "range over sorted keys or keep a slice beside the map; " +
		"where the order cannot be seen, say why in a //tidy:unordered comment on the line above"
	info, err := t.types()
	if err != nil {
		return []Finding{{".", 0, "the rules cannot be type-checked", err.Error()}}
	}
	for _, f := range t.Rules() {
		report := func(pos token.Pos, what string) {
			if !f.marked(pos, "unordered") {
				found = append(found, f.find(pos, fix, "%s", what))
			}
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			loop, ok := n.(*ast.RangeStmt)
			if !ok || blank(loop.Key) && blank(loop.Value) {
				return true
			}
			switch kind := info.TypeOf(loop.X); {
			case kind == nil || kind == types.Typ[types.Invalid]:
				found = append(found, f.find(loop.Pos(), "make the package compile", "what is ranged over has no type"))
			case isMap(kind):
				report(loop.Pos(), "a range over a map")
			}
			return true
		})
		sorted := sortedAtOnce(f)
		for _, use := range uses(f, "maps") {
			if slices.Contains(mapFunctions, use.Sel.Name) && !sorted[use] {
				report(use.Pos(), "the order of a map shows through maps."+use.Sel.Name)
			}
		}
	}
	return found
}

func blank(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	return e == nil || ok && name.Name == "_"
}

// isMap says whether values of the type are, or may be, maps.
func isMap(t types.Type) bool {
	parameter, ok := t.(*types.TypeParam)
	if !ok {
		_, ok = t.Underlying().(*types.Map)
		return ok
	}
	constraint, ok := parameter.Constraint().Underlying().(*types.Interface)
	if !ok {
		return false
	}
	for embedded := range constraint.EmbeddedTypes() {
		switch e := embedded.(type) {
		case *types.Union:
			for term := range e.Terms() {
				if isMap(term.Type()) {
					return true
				}
			}
		default:
			if isMap(e) {
				return true
			}
		}
	}
	return false
}

// sortedAtOnce lists the selections that are called as the first argument of a
// sorting function.
func sortedAtOnce(f *File) map[*ast.SelectorExpr]bool {
	sorters := map[ast.Expr]bool{}
	for _, use := range uses(f, "slices") {
		sorters[use] = slices.Contains(sortFunctions, use.Sel.Name)
	}
	sorted := map[*ast.SelectorExpr]bool{}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || !sorters[call.Fun] || len(call.Args) == 0 {
			return true
		}
		if inner, ok := call.Args[0].(*ast.CallExpr); ok {
			if selector, ok := inner.Fun.(*ast.SelectorExpr); ok {
				sorted[selector] = true
			}
		}
		return true
	})
	return sorted
}
