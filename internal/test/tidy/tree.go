package tidy

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Module is the path of the product's module.
const Module = "github.com/holdfast-locks/holdfast"

// Tree is the repository's text in memory, with its Go files parsed.
type Tree struct {
	Files   []*File // every text file, by path
	Set     *token.FileSet
	checked *checked // filled by types, once
}

// File is one text file.
type File struct {
	Path   string // from the repository's root, with slashes
	Source []byte
	AST    *ast.File // nil where it is not Go, or lies in testdata
	set    *token.FileSet
}

// Finding is one breach of one rule.
type Finding struct {
	Path string
	Line int // counted from 1; 0 means the file or folder as a whole
	What string
	Fix  string // what to do instead
}

func (f Finding) String() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s: %s", f.Path, f.What, f.Fix)
	}
	return fmt.Sprintf("%s:%d: %s: %s", f.Path, f.Line, f.What, f.Fix)
}

// Rule is one check.
type Rule struct {
	Name  string
	Why   string
	Check func(*Tree) []Finding
}

// Folder returns the folder of the file; "" is the root.
func (f *File) Folder() string {
	folder := path.Dir(f.Path)
	if folder == "." {
		return ""
	}
	return folder
}

// Test reports whether the file is only part of tests.
func (f *File) Test() bool { return strings.HasSuffix(f.Path, "_test.go") }

// Generated reports whether a generator wrote the file.
func (f *File) Generated() bool {
	if strings.HasSuffix(f.Path, ".pb.go") {
		return true
	}
	return f.AST != nil && ast.IsGenerated(f.AST)
}

// Line returns the line of pos in its file.
func (f *File) Line(pos token.Pos) int { return f.set.Position(pos).Line }

// find returns a finding at pos.
func (f *File) find(pos token.Pos, fix, what string, args ...any) Finding {
	return Finding{Path: f.Path, Line: f.Line(pos), What: fmt.Sprintf(what, args...), Fix: fix}
}

// Go returns the Go files that people wrote.
func (t *Tree) Go() []*File {
	return slices.DeleteFunc(slices.Clone(t.Files), func(f *File) bool {
		return f.AST == nil || f.Generated()
	})
}

// Code returns the Go files without the tests.
func (t *Tree) Code() []*File {
	return slices.DeleteFunc(t.Go(), (*File).Test)
}

// Rules returns the Code within the rules packages.
func (t *Tree) Rules() []*File {
	return slices.DeleteFunc(t.Code(), func(f *File) bool { return !isRules(f.Folder()) })
}

// Has reports whether there is a file at path.
func (t *Tree) Has(path string) bool {
	return slices.ContainsFunc(t.Files, func(f *File) bool { return f.Path == path })
}

// Packages lists the folders that hold Go code outside of tests, in order, with
// their files.
func (t *Tree) Packages() (folders []string, files map[string][]*File) {
	files = map[string][]*File{}
	for _, f := range t.Files {
		if f.AST != nil && !f.Test() {
			files[f.Folder()] = append(files[f.Folder()], f)
		}
	}
	return slices.Sorted(maps.Keys(files)), files
}

// Parse makes a tree of files, by path.
func Parse(sources map[string]string) (*Tree, error) {
	t := &Tree{Set: token.NewFileSet()}
	for _, path := range slices.Sorted(maps.Keys(sources)) {
		if err := t.add(path, []byte(sources[path])); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Read makes a tree of a folder. Files that are no text, folders of fetched
// packages and git's own are left out.
func Read(folder fs.FS) (*Tree, error) {
	t := &Tree{Set: token.NewFileSet()}
	err := fs.WalkDir(folder, ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "node_modules"):
			return fs.SkipDir
		case !entry.Type().IsRegular() || entry.Name() == ".git": // a file in a git worktree
			return nil
		}
		source, err := fs.ReadFile(folder, path)
		if err != nil {
			return fmt.Errorf("read the tree: %w", err)
		}
		if bytes.IndexByte(source, 0) >= 0 {
			return nil
		}
		return t.add(path, source)
	})
	return t, err
}

func (t *Tree) add(path string, source []byte) error {
	f := &File{Path: path, Source: source, set: t.Set}
	if strings.HasSuffix(path, ".go") && !strings.Contains("/"+path, "/testdata/") {
		parsed, err := parser.ParseFile(t.Set, path, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("parse: %w", err)
		}
		f.AST = parsed
	}
	t.Files = append(t.Files, f)
	return nil
}

// lines counts the lines of a text.
func lines(source []byte) int {
	n := bytes.Count(source, []byte("\n"))
	if len(source) > 0 && source[len(source)-1] != '\n' {
		n++
	}
	return n
}
