package tidy

import (
	"slices"
	"strings"
)

// docs finds packages without a package comment.
func docs(t *Tree) (found []Finding) {
	folders, files := t.Packages()
	for _, folder := range folders {
		page := folder + "/doc.go"
		switch {
		case folder == "":
			page = "holdfast.go"
		case strings.HasPrefix(folder, "examples/"):
			page = folder + "/main.go" // an example is one file
		}
		if !slices.ContainsFunc(files[folder], func(f *File) bool { return f.Path == page && f.AST.Doc != nil }) {
			found = append(found, Finding{page, 0, "no package comment",
				"write the page that a newcomer reads first: what the package is for, its design, what it guarantees"})
		}
	}
	return found
}

// parts are the folders of protocol that are not protocols.
var parts = []string{"admin", "authority", "local", "option", "probe", "protocoltest"}

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
				found = append(found, Finding{folder, 0, "no " + file, "see docs/developing.md for the files of a protocol"})
			}
		}
		golden := false
		for _, f := range t.Files {
			golden = golden || f.Folder() == folder+"/testdata" && strings.HasSuffix(f.Path, ".txt")
		}
		if !golden {
			found = append(found, Finding{folder, 0, "no golden conversation in testdata", "see docs/developing.md for how to add one"})
		}
	}
	return found
}
