package tidy

import (
	"slices"
	"strconv"
	"strings"
)

// row says what the packages in a folder may import. A pattern that ends in /...
// stands for the folders below it; "" is the root package.
type row struct {
	folders []string
	own     []string // of this module
	std     []string // nil means all of it
	outside []string // of other modules, by prefix; "*" is any
}

// ruleStd is what rules may use of the standard library: nothing in it does I/O,
// starts a goroutine or, by itself, reads a clock (see clock).
var ruleStd = []string{
	"cmp", "encoding/binary", "errors", "fmt", "iter", "maps", "math", "math/bits",
	"math/rand/v2", "slices", "strconv", "strings", "time",
}

// ruleOrder lists the rules packages: each may import what stands before it.
var ruleOrder = []string{"lock", "lock/replica", "storage", "protocol", "internal/member/election", "internal/member/membership", "internal/member/session", "protocol/authority", "protocol/local", "protocol/consensus/group", "protocol/consensus/...", "protocol/...", "internal/member"}

// edgeOwn is what an edge may import of this module. Edges do not know each other.
// Other storage drivers than the member's own cell and journal reach an edge as values.
var edgeOwn = []string{
	"", "lock", "storage", "protocol", "internal/member/membership", "internal/member/session", "protocol/authority", "protocol/local", "protocol/...",
	"internal/run", "internal/api", "internal/api/...", "internal/transport", "internal/transport/...", "internal/server/events", "internal/server/admin", "internal/disk/cell", "internal/disk/journal", "internal/clock",
	"internal/certificate", "internal/descriptors", "internal/socket", "internal/sparing", "internal/turns", "internal/member", "internal/trace",
}

// programs may import everything, and only programs may import them.
var programs = []string{"cmd/...", "bench", "bench/...", "internal/load/target", "internal/load/soak", "internal/supervise", "internal/config", "internal/demo", "internal/test/clustertest", "internal/test/realstore", "internal/test/realstore/...", "tools/..."}

var anyModule = []string{"*"}

// switchFolder has the switch that takes a rule out of the code. Beside tests, only the
// simulator may set it, and only package protocol may ask on behalf of the rules: no way
// leads there from what a member is configured with.
const switchFolder = "internal/mutation"

var switchers = []string{"protocol", "sim", "sim/..."}

// rows is the table: nouns, rules, engines, edges, programs.
func rows() []row {
	table := []row{{folders: []string{""}}}
	for i, folder := range ruleOrder {
		std, outside := ruleStd, []string(nil)
		switch folder {
		case "storage":
			std = append([]string{"context"}, ruleStd...) // for the interface that its drivers implement
		case "lock/replica":
			std = append([]string{"hash/crc32", "hash/crc64"}, ruleStd...) // sums of what is written down
		case "protocol/...", "internal/member":
			std = append([]string{"hash/fnv"}, ruleStd...) // consensus: which shard has a name, and whose a log is
		case "internal/member/session":
			std = append([]string{"crypto/sha256", "crypto/subtle"}, ruleStd...) // what others keep of a client's secret
		case "protocol/consensus/group":
			outside = []string{"go.etcd.io/raft", "google.golang.org/protobuf/proto"} // in which that writes down who is a member
		}
		table = append(table, row{[]string{folder}, append([]string{"", switchFolder}, ruleOrder[:i]...), std, outside})
	}
	rules := append([]string{""}, ruleOrder...)
	with := func(more ...string) []string { return append(slices.Clone(rules), more...) }
	return append(table,
		row{folders: []string{"internal/clock"}, outside: []string{"golang.org/x/sys"}},
		row{folders: []string{"internal/descriptors"}, outside: []string{"golang.org/x/sys"}},
		row{folders: []string{"internal/test/tidy", "internal/sparing", "internal/turns", "internal/test/parallel", switchFolder}},
		row{folders: []string{"internal/test/issuer", "internal/certificate"}},
		row{folders: []string{"internal/socket"}, outside: []string{"golang.org/x/sys"}},
		row{folders: []string{"protocol/protocoltest"}, own: with(), outside: []string{"github.com/cockroachdb/datadriven"}},
		row{folders: []string{"internal/api/snapshot"}, own: []string{"internal/api"}},
		row{folders: []string{"internal/api", "internal/api/..."}, own: with("internal/api/schema"), outside: anyModule},
		row{folders: []string{"internal/server/events"}, own: with("internal/api", "internal/api/schema")},
		row{folders: []string{"internal/transport"}, own: with()},
		row{folders: []string{"internal/transport/..."}, own: with("internal/transport", "internal/transport/secure", "internal/api/schema", "internal/transport/codec", "internal/clock", "internal/certificate", "internal/socket", "internal/sparing"), outside: anyModule},
		// What makes a driver of a URL knows them all.
		row{folders: []string{"storage/open"}, own: []string{"storage", "storage/..."}},
		row{folders: []string{"storage/..."}, own: []string{"storage", "storage/internal/watch", "storage/internal/gather", "storage/internal/location", "internal/descriptors", "internal/sparing"}, outside: anyModule},
		row{folders: []string{"internal/run"}, own: with("internal/clock"), outside: anyModule},
		row{folders: []string{"internal/server/admin"}, own: with("internal/run", "internal/api")},
		row{folders: []string{"internal/trace/text"}},
		row{folders: []string{"internal/trace"}, own: with("internal/trace/text"), outside: []string{"golang.org/x/sys"}},
		// Runs of processes that share a store have one in memory.
		row{folders: []string{"sim/explore/stored"}, own: with("storage/memory", switchFolder), outside: anyModule},
		row{folders: []string{"sim", "sim/..."}, own: with("sim", "sim/...", "internal/trace", switchFolder), outside: anyModule},
		// A locker over a store is a member alone.
		row{folders: []string{"storelock"}, own: append(slices.Clone(edgeOwn), "internal/host"), outside: anyModule},
		// A guest locks through members that have a part in a space, as any client.
		row{folders: []string{"internal/host"}, own: append(slices.Clone(edgeOwn), "client"), outside: anyModule},
		row{folders: []string{"internal/server", "internal/server/...", "lockertest"}, own: edgeOwn, outside: anyModule},
		row{
			folders: []string{"client"}, outside: anyModule,
			own: []string{"", "lock", "internal/member/session", "internal/api", "internal/api/...", "internal/transport", "internal/transport/secure", "internal/clock", "internal/certificate", "internal/socket", "internal/sparing", "internal/turns"},
		},
		// The workloads know no engine: another module measures other services with them.
		row{folders: []string{"internal/load", "internal/load/limit"}},
		row{folders: programs, own: []string{"", "..."}, outside: anyModule},
	)
}

// isRules says whether the package in folder is pure. The root is not one of
// them: it holds the locks that users hold, which know contexts. Nor is what plays
// conversations in the tests of protocols.
func isRules(folder string) bool { return matches(ruleOrder, folder) && folder != "protocol/protocoltest" }

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
			found = append(found, table[i].check(f)...)
		}
	}
	return found
}

func (r row) check(f *File) (found []Finding) {
	for _, spec := range f.AST.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has refused such a file
		}
		if spec.Name != nil && spec.Name.Name == "." {
			found = append(found, f.find(spec.Pos(), "import it by name", "%s is imported without a name", imported))
		}
		if why := r.refuse(f, imported); why != "" {
			found = append(found, f.find(spec.Pos(), why, "package %q imports %s", f.Folder(), imported))
		}
	}
	return found
}

// refuse says what is allowed instead, or "".
func (r row) refuse(f *File, imported string) string {
	own, ours := strings.CutPrefix(imported, Module)
	own = strings.TrimPrefix(own, "/")
	first, _, _ := strings.Cut(imported, "/")
	switch {
	case own == switchFolder && !matches(switchers, f.Folder()):
		return "switch rules off in the simulator alone; rules ask protocol.Mutated"
	case ours && matches(r.own, own):
		return ""
	case ours && len(r.own) == 0:
		return "it may import nothing of this module"
	case ours:
		return "of this module it may import " + list(r.own)
	case !strings.Contains(first, "."):
		if r.std == nil || slices.Contains(r.std, imported) {
			return ""
		}
		return "of the standard library it may import " + list(r.std)
	case f.Folder() == "protocol/consensus" && strings.HasPrefix(imported, "go.etcd.io/raft/"):
		return ""
	}
	for _, prefix := range r.outside {
		if prefix == "*" || imported == prefix || strings.HasPrefix(imported, prefix+"/") {
			return ""
		}
	}
	return "of other modules it may import " + list(r.outside)
}

func list(allowed []string) string {
	if len(allowed) == 0 {
		return "nothing"
	}
	words := slices.Clone(allowed)
	for i, word := range words {
		if word == "" {
			words[i] = "the root"
		}
	}
	return "only " + strings.Join(words, ", ")
}

// speakers may know protobuf and gRPC.
var speakers = []string{
	"internal/server", "internal/server/...", "client", "internal/transport", "internal/transport/...", "internal/api", "internal/api/...",
	"cmd/...", "bench", "bench/...", "storage/etcd", "protocol/consensus/group",
}

var grpcModules = []string{
	"google.golang.org/grpc", "google.golang.org/protobuf", "google.golang.org/genproto", "github.com/golang/protobuf",
}

func grpc(t *Tree) (found []Finding) {
	for _, f := range t.Code() {
		if matches(speakers, f.Folder()) {
			continue
		}
		for _, spec := range f.AST.Imports {
			imported := strings.Trim(spec.Path.Value, `"`)
			for _, module := range grpcModules {
				if imported == module || strings.HasPrefix(imported, module+"/") {
					found = append(found, f.find(spec.Pos(), "speak to other processes through server, client, transport or wire",
						"package %q imports %s", f.Folder(), imported))
				}
			}
		}
	}
	return found
}

func logger(t *Tree) (found []Finding) {
	for _, f := range t.Code() {
		if f.Folder() != "" && !isRules(f.Folder()) {
			continue
		}
		for _, spec := range f.AST.Imports {
			if p := spec.Path.Value; p == `"log"` || p == `"log/slog"` {
				found = append(found, f.find(spec.Pos(), "call out.Note in a machine, or return an error",
					"package %q imports %s", f.Folder(), p))
			}
		}
	}
	return found
}
