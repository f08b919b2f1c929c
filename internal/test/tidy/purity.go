package tidy

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
)

// concurrency finds goroutines and channels in rules packages.
func concurrency(t *Tree) (found []Finding) {
	const fix = "rules only step; let the driver run, wait and lock"
	for _, f := range t.Rules() {
		ast.Inspect(f.AST, func(n ast.Node) bool {
			what := ""
			switch n := n.(type) {
			case *ast.GoStmt:
				what = "a goroutine"
			case *ast.ChanType:
				what = "a channel"
			case *ast.SendStmt:
				what = "a send"
			case *ast.SelectStmt:
				what = "a select"
			case *ast.UnaryExpr:
				if n.Op == token.ARROW {
					what = "a receive"
				}
			}
			if what != "" {
				found = append(found, f.find(n.Pos(), fix, "%s in rules", what))
			}
			return true
		})
	}
	return found
}

// uses lists the selections from an imported package in a file.
func uses(f *File, imported string) (found []*ast.SelectorExpr) {
	name := importName(f, imported)
	if name == "" {
		return nil
	}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := selector.X.(*ast.Ident); ok && x.Name == name {
				found = append(found, selector)
			}
		}
		return true
	})
	return found
}

// importName is the name of an imported package in a file, or "".
func importName(f *File, imported string) string {
	for _, spec := range f.AST.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err != nil || p != imported {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		parts := strings.Split(imported, "/")
		last := parts[len(parts)-1]
		if len(parts) > 1 && len(last) > 1 && last[0] == 'v' && strings.Trim(last[1:], "0123456789") == "" {
			last = parts[len(parts)-2]
		}
		return last
	}
	return ""
}
