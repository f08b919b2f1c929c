package tidy

import (
	"slices"
	"strings"
)

// row lists the packages of this module that some packages may import, tests excluded. Imports from other modules are
// in .golangci.yml.
type row struct {
	folders []string // patterns, like may; the first matching row counts
	may     []string
}

// A pattern is a folder; "" is the root. One that ends in /... is the folder with all below it, and one that begins
// with ! excludes matches of the others.
var (
	// rules are pure: an event goes in, effects come out.
	rules = []string{"lock/...", "storage", "protocol/...", "!protocol/protocoltest", "internal/member/...", "internal/client/session", "internal/server/edge", "internal/takeall"}

	// leaves do not know locks.
	leaves = []string{
		"internal/access/jwt", "internal/access/token", "internal/audit",
		"internal/backoff", "internal/certificate", "internal/clock", "internal/descriptors", "internal/follow", "internal/printable", "internal/private",
		"internal/socket", "internal/sparing", "internal/trace/text", "internal/turns",
	}

	// contract is the knowledge about every protocol.
	contract = []string{"", "lock/...", "storage", "protocol", "protocol/option", "protocol/admin", "protocol/probe"}

	// engines move bytes and time, and decide nothing. They know a protocol only by its descriptor.
	engines = slices.Concat(contract, leaves, []string{
		"internal/member/...",
		"internal/api/...", "internal/transport/...", "internal/run", "internal/trace",
		"internal/server/admin", "internal/server/edge", "internal/server/events", "internal/server/observe",
		"internal/access", "internal/access/guard",
	})
)

// switchFolder has the switch that disables a rule. Apart from tests, only the simulator may set it, and only package
// protocol may query it for the rules: a member's configuration cannot reach it.
const switchFolder = "internal/mutation"

// table lists the layers from the bottom to the top: nouns, rules, engines, edges, programs.
var table = []row{
	{[]string{"internal/access/jwt", "internal/access/token", "internal/certificate"}, []string{"internal/follow", "internal/private"}},
	{slices.Concat([]string{"", "storage", "protocol/option", switchFolder, "internal/load/limit"}, leaves), nil},
	{[]string{"internal/load"}, []string{"internal/backoff"}},

	{[]string{"lock/..."}, []string{"", "lock", "lock/wire"}},
	{[]string{"protocol"}, []string{"", "lock", "lock/wire", "storage", "protocol/option", switchFolder}},
	{[]string{"protocol/admin"}, []string{"", "lock", "lock/wire", "protocol"}},
	{[]string{"protocol/probe"}, []string{"", "lock", "storage", "protocol", "protocol/option"}},
	{[]string{"protocol/authority", "protocol/local"}, []string{"", "lock", "lock/wire", "protocol", "protocol/option", "protocol/admin", "protocol/probe"}},
	{[]string{"protocol/consensus/..."}, slices.Concat(contract, []string{"protocol/consensus/..."})},
	{[]string{"protocol/protocoltest"}, []string{"lock", "storage", "protocol", "protocol/option", "internal/test/golden"}},
	// Protocols do not know each other.
	{[]string{"protocol/..."}, slices.Concat(contract, []string{"protocol/authority", "protocol/local"})},
	{[]string{"internal/member"}, slices.Concat([]string{""}, rules)},
	{[]string{"internal/member/..."}, []string{"", "lock", "lock/wire", "storage", "protocol", "internal/member/..."}},

	// The package that makes a driver from a URL knows them all.
	{[]string{"storage/open"}, []string{"storage/..."}},
	{[]string{"storage/..."}, []string{
		"storage", "storage/internal/...", "internal/backoff", "internal/descriptors", "internal/sparing",
	}},
	{[]string{"internal/disk/..."}, []string{"storage", "internal/descriptors", "internal/sparing"}},
	{[]string{"internal/api/..."}, []string{"", "internal/api/..."}},
	{[]string{"internal/access"}, []string{""}},
	{[]string{"internal/access/guard"}, slices.Concat([]string{"internal/access"}, leaves)},
	{[]string{"internal/transport/..."}, slices.Concat([]string{""}, rules, leaves, []string{
		"internal/api/schema", "internal/transport", "internal/transport/codec", "internal/transport/secure",
	})},
	{[]string{"internal/run", "internal/trace"}, slices.Concat(contract, leaves, []string{"internal/member/..."})},
	{[]string{"internal/server/admin", "internal/server/events"}, slices.Concat(contract, []string{"internal/member/...", "internal/api/...", "internal/run"})},
	{[]string{"internal/waits"}, []string{"internal/api/schema"}},
	{[]string{"internal/server/observe"}, []string{"", "lock", "protocol", "internal/api", "internal/api/schema", "internal/backoff", "internal/server/events"}},
	// The simulator knows a protocol only by its descriptor.
	{[]string{"sim/..."}, slices.Concat(contract, []string{"internal/member/...", "sim/...", "internal/client/session", "internal/server/edge", "internal/server/events", "internal/server/observe", "internal/takeall", "internal/api/...", "internal/trace", "storage/memory", switchFolder})},

	{[]string{"internal/server/edge"}, []string{"", "lock", "protocol", "internal/api", "internal/api/schema", "internal/member/session"}},
	// Edges do not know each other. A member gets its store drivers as values; a guest locks through members, like any
	// client.
	{[]string{"lockertest"}, []string{""}},
	{[]string{"holdfasttest"}, []string{"", "lock", "internal/takeall"}},
	{[]string{"elect"}, []string{"", "internal/backoff"}},
	{[]string{"internal/takeall"}, []string{switchFolder}},
	{[]string{"internal/client/session"}, []string{"", "internal/api", "internal/api/schema", "internal/clock", switchFolder}},
	{[]string{"client"}, slices.Concat([]string{"", "internal/client/session", "internal/takeall", "internal/api/...", "internal/transport/secure"}, leaves)},
	{[]string{"internal/server"}, engines},
	// A host writes the first logs of a cluster that begins with a snapshot.
	{[]string{"internal/host"}, slices.Concat(engines, []string{"client", "internal/disk/...", "internal/takeall", "protocol/consensus"})},
	{[]string{"node", "storelock"}, []string{"", "storage", "protocol", "protocol/claim", "node", "internal/host", "internal/api", "internal/api/schema", "internal/backoff", "internal/clock"}},

	{[]string{"internal/pki"}, []string{"internal/private"}},

	// A view shows what its source answers.
	{[]string{"internal/top"}, []string{"", "internal/api", "internal/api/schema", "internal/printable"}},

	// Adapters to other projects, each a module of its own.
	{[]string{"contrib/gocron"}, []string{"", "elect"}},
	{[]string{"contrib/terraform"}, []string{"", "internal/backoff"}},
	{[]string{"contrib/..."}, []string{""}},

	{[]string{"examples/..."}, []string{"", "client", "node", "storelock", "storage/open"}},

	// Only programs and tests import programs and test helpers.
	{[]string{
		"cmd/...", "bench/...", "tools/...", "internal/config", "internal/demo", "internal/supervise",
		"internal/load/soak", "internal/load/target", "internal/test/...", "internal/clock/clocktest",
	}, []string{"/...", "!" + switchFolder}},
}

// isRules reports whether the package in folder is pure. The root is not: its locks use contexts. Nor is the player of
// conversations in the tests of protocols.
func isRules(folder string) bool { return matches(rules, folder) }

// matches reports whether patterns match folder.
func matches(patterns []string, folder string) (matched bool) {
	for _, pattern := range patterns {
		pattern, out := strings.CutPrefix(pattern, "!")
		above, all := strings.CutSuffix(pattern, "/...")
		if folder == above || all && (above == "" || strings.HasPrefix(folder, above+"/")) {
			matched = !out
		}
	}
	return matched
}

// imports checks the table. Tests are exempt: a test may drive a rule with any engine.
func imports(t *Tree) (found []Finding) {
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
				own, ours := strings.CutPrefix(imported, Module)
				own = strings.TrimPrefix(own, "/")
				if ours && !matches(table[i].may, own) {
					found = append(found, f.find(spec.Pos(), instead(table[i].may, own), "package %q imports %s", folder, imported))
				}
			}
		}
	}
	return found
}

// instead lists the packages of this module that a package may import if it may not import its own.
func instead(may []string, own string) string {
	if own == switchFolder {
		return "switch rules off in the simulator alone; rules ask protocol.Mutated, and those of a client and of takeall mutation.Off"
	}
	layers := slices.Clone(may)
	for i, layer := range layers {
		if layer == "" {
			layers[i] = "the root"
		}
		layers[i] = strings.Replace(layers[i], "!", "not ", 1)
	}
	if len(layers) == 0 {
		return "it may import nothing of this module"
	}
	return "of this module it may import only " + strings.Join(layers, ", ")
}
