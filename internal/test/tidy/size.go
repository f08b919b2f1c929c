package tidy

import (
	"strconv"
	"strings"
)

const (
	maxFile         = 500
	maxTestFile     = 800
	maxArchitecture = 130
	maxGolden       = 600
)

// fileLength finds files that are too long.
func fileLength(t *Tree) (found []Finding) {
	for _, f := range t.Files {
		allowed, fix := 0, "move one subject to a file of its own"
		switch {
		case f.Path == "ARCHITECTURE.md":
			allowed, fix = maxArchitecture, "move what is only true of one package to its doc.go, and a decision to docs/decisions"
		case strings.HasSuffix(f.Path, ".txt") && (strings.Contains(f.Path, "/testdata/") || strings.Contains(f.Path, "/scripts/")):
			allowed, fix = maxGolden, "split it by subject: a person has to read it"
		case f.AST == nil || f.Generated():
			continue
		case f.Test():
			allowed = maxTestFile
		default:
			allowed = maxFile
		}
		if n := lines(f.Source); n > allowed {
			found = append(found, Finding{f.Path, allowed + 1, plural(n) + ", " + plural(allowed) + " are allowed", fix})
		}
	}
	return found
}

func plural(n int) string { return strconv.Itoa(n) + " lines" }
