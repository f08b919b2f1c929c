package tidy

import (
	"slices"
	"strings"
)

// row says what the packages in a folder may import of this module. A pattern that ends in /...
// stands for the folders below it; "" is the root package.
type row struct {
	folders []string
	own     []string
}

// ruleOrder lists the rules packages: each may import what stands before it.
var ruleOrder = []string{"lock", "lock/replica", "storage", "protocol", "internal/member/election", "internal/member/membership", "internal/member/session", "protocol/authority", "protocol/local", "protocol/consensus/group", "protocol/consensus/...", "protocol/...", "internal/member"}

// edgeOwn is what an edge may import of this module. Edges do not know each other.
// Other storage drivers than the member's own cell and journal reach an edge as values.
var edgeOwn = []string{
	"", "lock", "storage", "protocol", "internal/member/membership", "internal/member/session", "protocol/authority", "protocol/local", "protocol/...",
	"internal/run", "internal/api", "internal/api/...", "internal/transport", "internal/transport/...", "internal/server/events", "internal/server/admin", "storage/cell", "storage/journal", "internal/clock",
	"internal/certificate", "internal/descriptors", "internal/socket", "internal/sparing", "internal/turns", "internal/member", "internal/trace",
}

// programs may import everything, and only programs may import them.
var programs = []string{"cmd/...", "bench", "bench/...", "internal/load/target", "internal/load/soak", "internal/supervise", "internal/config", "internal/demo", "internal/test/clustertest", "internal/test/realstore", "internal/test/realstore/...", "tools/..."}

// switchFolder has the switch that takes a rule out of the code. Beside tests, only the
// simulator may set it, and only package protocol may ask on behalf of the rules: no way
// leads there from what a member is configured with.
const switchFolder = "internal/mutation"

var switchers = []string{"protocol", "sim", "sim/..."}

// rows is the table: nouns, rules, engines, edges, programs.
func rows() []row {
	table := []row{{folders: []string{""}}}
	for i, folder := range ruleOrder {
		table = append(table, row{[]string{folder}, append([]string{"", switchFolder}, ruleOrder[:i]...)})
	}
	rules := append([]string{""}, ruleOrder...)
	with := func(more ...string) []string { return append(slices.Clone(rules), more...) }
	return append(table,
		row{folders: []string{"internal/clock"}},
		row{folders: []string{"internal/descriptors"}},
		row{folders: []string{"internal/test/tidy", "internal/sparing", "internal/turns", "internal/test/parallel", switchFolder}},
		row{folders: []string{"internal/test/issuer", "internal/certificate"}},
		row{folders: []string{"internal/socket"}},
		row{folders: []string{"protocol/protocoltest"}, own: with()},
		row{folders: []string{"internal/api/snapshot"}, own: []string{"internal/api"}},
		row{folders: []string{"internal/api", "internal/api/..."}, own: with("internal/api/schema")},
		row{folders: []string{"internal/server/events"}, own: with("internal/api", "internal/api/schema")},
		row{folders: []string{"internal/transport"}, own: with()},
		row{folders: []string{"internal/transport/..."}, own: with("internal/transport", "internal/transport/secure", "internal/api/schema", "internal/transport/codec", "internal/clock", "internal/certificate", "internal/socket", "internal/sparing")},
		// What makes a driver of a URL knows them all.
		row{folders: []string{"storage/open"}, own: []string{"storage", "storage/..."}},
		row{folders: []string{"storage/..."}, own: []string{"storage", "storage/watch", "storage/gather", "storage/location", "internal/descriptors", "internal/sparing"}},
		row{folders: []string{"internal/run"}, own: with("internal/clock")},
		row{folders: []string{"internal/server/admin"}, own: with("internal/run", "internal/api")},
		row{folders: []string{"internal/trace/text"}},
		row{folders: []string{"internal/trace"}, own: with("internal/trace/text")},
		// Runs of processes that share a store have one in memory.
		row{folders: []string{"sim/explore/stored"}, own: with("storage/memory", switchFolder)},
		row{folders: []string{"sim", "sim/..."}, own: with("sim", "sim/...", "internal/trace", switchFolder)},
		// A locker over a store is a member alone.
		row{folders: []string{"storelock"}, own: append(slices.Clone(edgeOwn), "node")},
		// A guest locks through members that have a part in a space, as any client.
		row{folders: []string{"node"}, own: append(slices.Clone(edgeOwn), "client")},
		row{folders: []string{"internal/server", "internal/server/...", "lockertest"}, own: edgeOwn},
		row{
			folders: []string{"client"},
			own:     []string{"", "lock", "internal/member/session", "internal/api", "internal/api/...", "internal/transport", "internal/transport/secure", "internal/clock", "internal/certificate", "internal/socket", "internal/sparing", "internal/turns"},
		},
		// The workloads know no engine: another module measures other services with them.
		row{folders: []string{"internal/load", "internal/load/limit"}},
		row{folders: programs, own: []string{"", "..."}},
	)
}

// isRules says whether the package in folder is pure. The root is not one of
// them: it holds the locks that users hold, which know contexts. Nor is what plays
// conversations in the tests of protocols.
func isRules(folder string) bool {
	return matches(ruleOrder, folder) && folder != "protocol/protocoltest"
}

// matches says whether one of patterns stands for folder.
func matches(patterns []string, folder string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if pattern == "..." {
			return true
		}
		if above, ok := strings.CutSuffix(pattern, "..."); ok {
			return strings.HasPrefix(folder, above)
		}
		return folder == pattern
	})
}

// imports checks the table. Tests are exempt: a test may drive a rule with any
// engine.
func imports(t *Tree) (found []Finding) {
	table := rows()
	folders, files := t.Packages()
	for _, folder := range folders {
		i := slices.IndexFunc(table, func(r row) bool { return matches(r.folders, folder) })
		if i < 0 {
			found = append(found, Finding{folder, 0, "this package is in no layer",
				"give it a row in internal/test/tidy/layers.go, or move it"})
			continue
		}
		for _, f := range files[folder] {
			for _, spec := range f.AST.Imports {
				imported := strings.Trim(spec.Path.Value, `"`)
				if why := table[i].refuse(folder, imported); why != "" {
					found = append(found, f.find(spec.Pos(), why, "package %q imports %s", folder, imported))
				}
			}
		}
	}
	return found
}

// refuse says what a package in folder may import instead, or "".
func (r row) refuse(folder, imported string) string {
	own, ours := strings.CutPrefix(imported, Module)
	own = strings.TrimPrefix(own, "/")
	switch {
	case !ours:
		return ""
	case own == switchFolder && !matches(switchers, folder):
		return "switch rules off in the simulator alone; rules ask protocol.Mutated"
	case matches(r.own, own):
		return ""
	case len(r.own) == 0:
		return "it may import nothing of this module"
	}
	return "of this module it may import " + list(r.own)
}

func list(allowed []string) string {
	words := slices.Clone(allowed)
	for i, word := range words {
		if word == "" {
			words[i] = "the root"
		}
	}
	return "only " + strings.Join(words, ", ")
}
