package tidy

import (
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// checked is the type checker's result for the rules packages.
type checked struct {
	tree     *Tree
	files    map[string][]*File
	packages map[string]*types.Package
	outside  types.Importer
	info     types.Info
}

// types checks the rules packages, and their imports of this module, from source; the types of other imports come from
// the compiler's export data. The compiler reports mistakes in the source: an expression that is wrong because of one
// has no type here.
func (t *Tree) types() (*types.Info, error) {
	if t.checked != nil {
		return &t.checked.info, nil
	}
	folders, files := t.Packages()
	outside, err := exportData(t, folders, files)
	if err != nil {
		return nil, err
	}
	c := &checked{tree: t, files: files, packages: map[string]*types.Package{}, outside: outside}
	c.info.Types = map[ast.Expr]types.TypeAndValue{}
	c.info.Uses = map[*ast.Ident]types.Object{}
	c.info.Defs = map[*ast.Ident]types.Object{}
	for _, folder := range folders {
		if isRules(folder) {
			if _, err := c.check(folder); err != nil {
				return nil, err
			}
		}
	}
	t.checked = c
	return &c.info, nil
}

// Import makes a checked a types.Importer.
func (c *checked) Import(path string) (*types.Package, error) {
	folder, ours := strings.CutPrefix(path, Module)
	if !ours {
		return c.outside.Import(path)
	}
	return c.check(strings.TrimPrefix(folder, "/"))
}

func (c *checked) check(folder string) (*types.Package, error) {
	if p, ok := c.packages[folder]; ok {
		if p == nil {
			return nil, errors.New("import cycle through " + folder)
		}
		return p, nil
	}
	c.packages[folder] = nil
	var parsed []*ast.File
	for _, f := range c.files[folder] {
		parsed = append(parsed, f.AST)
	}
	if parsed == nil {
		return nil, fmt.Errorf("no package in %q", folder)
	}
	config := types.Config{Importer: c, Error: func(error) {}}
	p, _ := config.Check(strings.TrimSuffix(Module+"/"+folder, "/"), c.tree.Set, parsed, &c.info)
	c.packages[folder] = p
	return p, nil
}

// exportData asks the go command for the compiler's export data of all imports of the nouns and the rules from other
// modules.
func exportData(t *Tree, folders []string, files map[string][]*File) (types.Importer, error) {
	wanted := map[string]bool{"errors": true}
	for _, folder := range folders {
		for _, f := range files[folder] {
			for _, spec := range f.AST.Imports {
				imported, err := strconv.Unquote(spec.Path.Value)
				if err == nil && (folder == "" || isRules(folder)) && !strings.HasPrefix(imported, Module) {
					wanted[imported] = true
				}
			}
		}
	}
	command := exec.Command("go", append([]string{
		"list", "-export", "-deps", "-f", "{{if .Export}}{{.ImportPath}}\t{{.Export}}{{end}}", "--",
	}, slices.Sorted(maps.Keys(wanted))...)...)
	command.Stderr = os.Stderr
	answer, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("list export data: %w", err)
	}
	where := map[string]string{}
	for line := range strings.Lines(string(answer)) {
		if imported, file, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			where[imported] = file
		}
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		if where[path] == "" {
			return nil, fmt.Errorf("no export data for %s", path)
		}
		return os.Open(where[path])
	}), nil
}
