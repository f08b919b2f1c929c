package tidy

import "go/ast"

// machineFolders hold machines whose receivers are all called m.
var machineFolders = []string{"internal/member/membership", "internal/member/session", "protocol/...", "!protocol"}

// receivers finds machines that use other words than the rest: m for the machine,
// and now, ev and out for what Step is given.
func receivers(t *Tree) (found []Finding) {
	machines := map[string]bool{} // folder.Type
	for _, f := range t.Code() {
		for function, receiver := range methods(f) {
			if isStep(function) {
				machines[f.Folder()+"."+receiver] = true
				found = append(found, stepNames(f, function)...)
			}
		}
	}
	for _, f := range t.Code() {
		for function, receiver := range methods(f) {
			if !machines[f.Folder()+"."+receiver] || len(function.Recv.List[0].Names) == 0 {
				continue
			}
			if name := function.Recv.List[0].Names[0]; name.Name != "m" && name.Name != "_" {
				found = append(found, f.find(name.Pos(), "call the receiver of a machine m",
					"method %s of machine %s calls it %s", function.Name.Name, receiver, name.Name))
			}
		}
	}
	return found
}

// methods yields the methods in a file of a machine's package, with the names of their types.
func methods(f *File) func(yield func(*ast.FuncDecl, string) bool) {
	return func(yield func(*ast.FuncDecl, string) bool) {
		if !matches(machineFolders, f.Folder()) {
			return
		}
		for _, declared := range f.AST.Decls {
			function, ok := declared.(*ast.FuncDecl)
			if ok && function.Recv != nil && !yield(function, receiverType(function.Recv.List[0].Type)) {
				return
			}
		}
	}
}

func receiverType(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return receiverType(e.X)
	case *ast.IndexExpr:
		return receiverType(e.X)
	case *ast.IndexListExpr:
		return receiverType(e.X)
	}
	return ""
}

func isStep(function *ast.FuncDecl) bool {
	return function.Name.Name == "Step" && function.Type.Params.NumFields() == 3
}

func stepNames(f *File, function *ast.FuncDecl) (found []Finding) {
	var params []string
	for _, field := range function.Type.Params.List {
		for _, name := range field.Names {
			params = append(params, name.Name)
		}
	}
	for i, want := range []string{"now", "ev", "out"} {
		if i < len(params) && params[i] != want && params[i] != "_" {
			found = append(found, f.find(function.Pos(), "call it "+want, "Step calls its parameter %s", params[i]))
		}
	}
	return found
}
