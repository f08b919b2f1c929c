package tidy

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// globals finds package-level variables that hold state. In rules packages only three kinds of variables are allowed:
// an error, a check that a type implements an interface, and a literal that is never written to. Elsewhere a variable
// must at least have an initial value, which excludes mutexes, caches and registries. A variable that the compiler
// fills from a file, by go:embed, counts as a literal.
func globals(t *Tree) (found []Finding) {
	variables := map[types.Object]bool{}
	info, err := t.types()
	if err != nil {
		return []Finding{{".", 0, "the rules cannot be type-checked", err.Error()}}
	}
	for _, f := range t.Code() {
		for _, declared := range f.AST.Decls {
			group, ok := declared.(*ast.GenDecl)
			if !ok || group.Tok != token.VAR {
				continue
			}
			for _, spec := range group.Specs {
				spec := spec.(*ast.ValueSpec)
				if isRules(f.Folder()) {
					found = append(found, literals(f, spec)...)
				} else if len(spec.Values) == 0 && !embedded(group, spec) {
					found = append(found, f.find(spec.Pos(), "keep it in a value that New returns",
						"variable %s of the package begins empty, so something will fill it", spec.Names[0].Name))
				}
				for _, name := range spec.Names {
					if object := info.Defs[name]; object != nil {
						variables[object] = true
					}
				}
			}
		}
	}
	return append(found, writes(t, info, variables)...)
}

func embedded(group *ast.GenDecl, spec *ast.ValueSpec) bool {
	for _, doc := range []*ast.CommentGroup{group.Doc, spec.Doc} {
		if doc == nil {
			continue
		}
		for _, line := range doc.List {
			if strings.HasPrefix(line.Text, "//go:embed ") {
				return true
			}
		}
	}
	return false
}

// literals finds variables of a rules package that are neither errors nor literals.
func literals(f *File, spec *ast.ValueSpec) (found []Finding) {
	const fix = "make it a constant, a literal that no code writes to, or a field of the machine"
	if len(spec.Values) == 0 {
		return []Finding{f.find(spec.Pos(), fix, "variable %s of the package has no value", spec.Names[0].Name)}
	}
	for i, value := range spec.Values {
		if spec.Names[i].Name == "_" || isError(f, value) {
			continue
		}
		if _, ok := value.(*ast.CompositeLit); !ok {
			found = append(found, f.find(value.Pos(), fix, "variable %s of the package is no literal", spec.Names[i].Name))
			continue
		}
		ast.Inspect(value, func(n ast.Node) bool {
			if n, ok := n.(*ast.UnaryExpr); ok && n.Op == token.AND {
				found = append(found, f.find(n.Pos(), fix, "variable %s of the package holds a pointer", spec.Names[i].Name))
			}
			if call, ok := n.(*ast.CallExpr); ok && isMake(call) {
				found = append(found, f.find(n.Pos(), fix, "variable %s of the package holds something made to be filled", spec.Names[i].Name))
			}
			_, function := n.(*ast.FuncLit)
			return !function
		})
	}
	return found
}

func isError(f *File, value ast.Expr) bool {
	call, ok := value.(*ast.CallExpr)
	if !ok {
		return false
	}
	for _, maker := range [][2]string{{"errors", "New"}, {"fmt", "Errorf"}} {
		for _, use := range uses(f, maker[0]) {
			if call.Fun == use && use.Sel.Name == maker[1] {
				return true
			}
		}
	}
	return false
}

func isMake(call *ast.CallExpr) bool {
	name, ok := call.Fun.(*ast.Ident)
	return ok && (name.Name == "make" || name.Name == "new")
}

// writers are functions that write to their first argument.
var writers = map[string][]string{
	"slices": {"Sort", "SortFunc", "SortStableFunc", "Reverse", "Delete", "DeleteFunc", "Insert", "Replace", "Compact", "CompactFunc"},
	"maps":   {"Copy", "DeleteFunc", "Insert"},
	"":       {"append", "clear", "copy", "delete"},
}

// writes finds writes to package-level variables in rules packages, and expressions that take their addresses, through
// which they could be written.
func writes(t *Tree, info *types.Info, variables map[types.Object]bool) (found []Finding) {
	for _, f := range t.Rules() {
		target := func(e ast.Expr) {
			name := base(e, info)
			if name != nil && variables[info.Uses[name]] {
				found = append(found, f.find(e.Pos(), "keep what changes in a field of the machine",
					"variable %s of a package is written to", name.Name))
			}
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				if n.Tok != token.DEFINE {
					for _, left := range n.Lhs {
						target(left)
					}
				}
			case *ast.IncDecStmt:
				target(n.X)
			case *ast.RangeStmt:
				if n.Tok == token.ASSIGN {
					target(n.Key)
					target(n.Value)
				}
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					target(n.X)
				}
			case *ast.CallExpr:
				if len(n.Args) > 0 && isWriter(f, n.Fun) {
					target(n.Args[0])
				}
			}
			return true
		})
	}
	return found
}

func isWriter(f *File, function ast.Expr) bool {
	switch function := function.(type) {
	case *ast.Ident:
		return slices.Contains(writers[""], function.Name)
	case *ast.SelectorExpr:
		x, ok := function.X.(*ast.Ident)
		return ok && importName(f, x.Name) == x.Name && slices.Contains(writers[x.Name], function.Sel.Name)
	}
	return false
}

// base is the variable that an expression reaches into: x for x, x[i], x.f, *x, x[i:j] and pkg.x; nil if there is none.
func base(e ast.Expr, info *types.Info) *ast.Ident {
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.ParenExpr:
		return base(e.X, info)
	case *ast.IndexExpr:
		return base(e.X, info)
	case *ast.SliceExpr:
		return base(e.X, info)
	case *ast.StarExpr:
		return base(e.X, info)
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			if _, ok := info.Uses[x].(*types.PkgName); ok {
				return e.Sel
			}
		}
		return base(e.X, info)
	}
	return nil
}
