package tidy

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// mapFunctions are the functions of package maps that iterate in map order.
var mapFunctions = []string{"All", "Keys", "Values", "DeleteFunc"}

// sortFunctions are the functions of package slices that sort their input.
var sortFunctions = []string{"Sorted", "SortedFunc", "SortedStableFunc"}

// waiver is a comment that explains why the order of the map below it does not show.
type waiver struct {
	file   *File
	pos    token.Pos
	reason string
	used   bool
}

// waivers lists the waivers in the rules packages, in order.
func waivers(t *Tree) (found []*waiver) {
	for _, f := range t.Rules() {
		for _, group := range f.AST.Comments {
			for _, comment := range group.List {
				if reason, ok := strings.CutPrefix(comment.Text, "//tidy:unordered"); ok {
					found = append(found, &waiver{file: f, pos: comment.Pos(), reason: strings.TrimSpace(reason)})
				}
			}
		}
	}
	return found
}

// order finds ranges over maps in rules packages, and iterators over maps that are not sorted at once. A range that
// uses neither key nor value is fine. It also finds waivers without a reason, and those that waive nothing.
func order(t *Tree) (found []Finding) {
	const fix = "range over sorted keys or keep a slice next to the map; " +
		"where the order cannot be seen, say why in a //tidy:unordered comment on the line above"
	info, err := t.types()
	if err != nil {
		return []Finding{{".", 0, "the rules cannot be type-checked", err.Error()}}
	}
	waived := waivers(t)
	for _, f := range t.Rules() {
		report := func(pos token.Pos, what string) {
			above := f.Line(pos) - 1
			i := slices.IndexFunc(waived, func(w *waiver) bool { return w.file == f && f.Line(w.pos) == above })
			if i < 0 {
				found = append(found, f.find(pos, fix, "%s", what))
				return
			}
			waived[i].used = true
		}
		ranges(f, info, report)
		sorted := sortedAtOnce(f)
		for _, use := range uses(f, "maps") {
			if slices.Contains(mapFunctions, use.Sel.Name) && !sorted[use] {
				report(use.Pos(), "the order of a map shows through maps."+use.Sel.Name)
			}
		}
	}
	for _, w := range waived {
		if !w.used {
			found = append(found, w.file.find(w.pos, "remove it, or move it to the line above", "//tidy:unordered waives nothing here"))
		} else if w.reason == "" {
			found = append(found, w.file.find(w.pos, "say on the same line why it is harmless here", "//tidy:unordered gives no reason"))
		}
	}
	return found
}

// ranges reports the ranges of a file over maps, and over values without a type.
func ranges(f *File, info *types.Info, report func(token.Pos, string)) {
	ast.Inspect(f.AST, func(n ast.Node) bool {
		loop, ok := n.(*ast.RangeStmt)
		if !ok || blank(loop.Key) && blank(loop.Value) {
			return true
		}
		switch kind := info.TypeOf(loop.X); {
		case kind == nil || kind == types.Typ[types.Invalid]:
			report(loop.Pos(), "what is ranged over has no type")
		case isMap(kind):
			report(loop.Pos(), "a range over a map")
		}
		return true
	})
}

func blank(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	return e == nil || ok && name.Name == "_"
}

// isMap reports whether values of the type are, or may be, maps.
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

// sortedAtOnce lists the selections that are called as the first argument of a sorting function.
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
