package tidy

import (
	"go/ast"
	"path"
	"slices"
	"strings"
)

// initFunctions finds functions that run by themselves.
func initFunctions(t *Tree) (found []Finding) {
	for _, f := range t.Go() {
		for _, declared := range f.AST.Decls {
			if function, ok := declared.(*ast.FuncDecl); ok && function.Recv == nil && function.Name.Name == "init" {
				found = append(found, f.find(function.Pos(), "do it in New, or in main", "a function init"))
			}
		}
	}
	return found
}

// docs finds packages without the page that introduces them.
func docs(t *Tree) (found []Finding) {
	folders, files := t.Packages()
	for _, folder := range folders {
		page := "doc.go"
		if folder == "" {
			page = "holdfast.go"
		}
		name, comment := files[folder][0].AST.Name.Name, ""
		for _, f := range files[folder] {
			if path.Base(f.Path) == page && f.AST.Doc != nil {
				comment = f.AST.Doc.Text()
			}
		}
		at := strings.TrimPrefix(folder+"/"+page, "/")
		switch {
		case comment == "":
			found = append(found, Finding{at, 0, "no package comment",
				"write the page that a newcomer reads first: what the package is for, its design, what it guarantees"})
		case name != "main" && !strings.HasPrefix(comment, "Package "+name+" "):
			found = append(found, Finding{at, 1, "the package comment does not begin with its name",
				"begin it with \"Package " + name + "\""})
		}
	}
	return found
}

// parts are the folders of protocol that are no protocol.
var parts = []string{"authority", "local", "protocoltest"}

// skeleton finds protocols that lack a file which all the others have.
func skeleton(t *Tree) (found []Finding) {
	folders, _ := t.Packages()
	for _, folder := range folders {
		name, ok := strings.CutPrefix(folder, "protocol/")
		if !ok || strings.Contains(name, "/") || slices.Contains(parts, name) {
			continue
		}
		for _, file := range []string{"doc.go", name + ".go"} {
			if !t.Has(folder + "/" + file) {
				found = append(found, Finding{folder, 0, "no " + file, "see CONTRIBUTING.md for the files of a protocol"})
			}
		}
		golden := false
		for _, f := range t.Files {
			golden = golden || f.Folder() == folder+"/testdata" && strings.HasSuffix(f.Path, ".txt")
		}
		if !golden {
			found = append(found, Finding{folder, 0, "no golden conversation in testdata", "see CONTRIBUTING.md for how to add one"})
		}
	}
	return found
}
