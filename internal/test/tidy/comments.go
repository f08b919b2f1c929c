package tidy

import (
	"go/ast"
	"regexp"
	"strings"
)

// camel is a word that can only be a name of the code.
var camel = regexp.MustCompile(`^[a-z]+[A-Z]\w*$`)

// comments finds doc comments that begin with the name of another declaration: a name that has changed, or a comment that
// stands above the wrong one.
func comments(t *Tree) (found []Finding) {
	for _, f := range t.Go() {
		for _, declared := range f.AST.Decls {
			switch d := declared.(type) {
			case *ast.FuncDecl:
				found = append(found, misnamed(f, d.Doc, d.Name)...)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					found = append(found, misnamedSpec(f, d, spec)...)
				}
			}
		}
	}
	return found
}

// misnamedSpec looks at a type or a value: at its own comment, or at that of the declaration that has it alone.
func misnamedSpec(f *File, d *ast.GenDecl, spec ast.Spec) []Finding {
	doc := d.Doc
	if d.Lparen.IsValid() {
		doc = nil
	}
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Doc != nil {
			doc = s.Doc
		}
		return misnamed(f, doc, s.Name)
	case *ast.ValueSpec:
		if s.Doc != nil {
			doc = s.Doc
		}
		if len(s.Names) == 1 {
			return misnamed(f, doc, s.Names[0])
		}
	}
	return nil
}

func misnamed(f *File, doc *ast.CommentGroup, name *ast.Ident) []Finding {
	if doc == nil {
		return nil
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(doc.List[0].Text, "// "), " ")
	if first = strings.TrimRight(first, ".,:'s"); !camel.MatchString(first) || strings.HasPrefix(name.Name, first) {
		return nil
	}
	return []Finding{f.find(doc.Pos(), "begin it with the name of what it stands above", "the comment of %s begins with %s", name.Name, first)}
}
