package tidy

import (
	"go/ast"
	"regexp"
	"strings"
)

// camel matches a word that can only be an identifier.
var camel = regexp.MustCompile(`^[a-z]+[A-Z]\w*$`)

// comments finds doc comments that begin with the name of another declaration: after a rename, or above the wrong
// declaration.
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
	return append(found, deadLinks(t)...)
}

// link matches a link of a comment to an exported name of its own package: [Name] or [Name.Member].
var link = regexp.MustCompile(`\[\*?([A-Z]\w*)(?:\.[A-Z]\w*)?\](?:[^:(\w]|$)`)

// deadLinks finds links in package comments to names that do not exist, for example after a rename.
func deadLinks(t *Tree) (found []Finding) {
	folders, files := t.Packages()
	for _, folder := range folders {
		names := map[string]bool{}
		for _, f := range files[folder] {
			for _, declared := range f.AST.Decls {
				for _, name := range declaredNames(declared) {
					names[name.Name] = true
				}
			}
		}
		for _, f := range files[folder] {
			if f.AST.Doc == nil {
				continue
			}
			for _, match := range link.FindAllStringSubmatch(f.AST.Doc.Text(), -1) {
				if !names[match[1]] {
					found = append(found, f.find(f.AST.Doc.Pos(), "link to what is there", "the page of the package links to %s, which it does not have", match[1]))
				}
			}
		}
	}
	return found
}

// declaredNames are the names that a declaration makes.
func declaredNames(declared ast.Decl) (names []*ast.Ident) {
	switch d := declared.(type) {
	case *ast.FuncDecl:
		return []*ast.Ident{d.Name}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name)
			case *ast.ValueSpec:
				names = append(names, s.Names...)
			}
		}
	}
	return names
}

// misnamedSpec checks a type or a value: its own comment, or that of a declaration with only this spec.
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
