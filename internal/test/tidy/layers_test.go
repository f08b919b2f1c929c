package tidy_test

// one is a tree of one file.
func one(path, source string) map[string]string { return map[string]string{path: source} }

func imports(path, packages string) map[string]string {
	return one(path, "package p\nimport (\n"+packages+"\n)\n")
}

func layerExamples() []example {
	const own = `"github.com/holdfast-locks/holdfast`
	return []example{
		// Nouns.
		{"imports", imports("holdfast.go", `"context"; "sync/atomic"`), nil},
		{"imports", imports("holdfast.go", own+`/lock"`), []string{`holdfast.go:3: package "" imports github.com/holdfast-locks/holdfast/lock`}},
		{"imports", imports("holdfast.go", `"golang.org/x/sys/unix"`), []string{"golang.org/x/sys/unix"}},
		// Rules.
		{"imports", imports("lock/a.go", `"strconv"; `+own+`"`), nil},
		{"imports", imports("lock/a.go", `"os"`), []string{"of the standard library it may import only cmp"}},
		{"imports", imports("lock/a.go", own+`/protocol"`), []string{"of this module it may import only the root"}},
		{"imports", imports("protocol/a.go", own+`/session"`), []string{"holdfast/session"}},
		{"imports", imports("internal/member/session/a.go", own+`/membership"`), nil},
		{"imports", imports("protocol/central/a.go", own+`/session"`), nil},
		{"imports", imports("protocol/central/a.go", own+`/protocol/grantor"`), []string{"protocol/grantor"}},
		{"imports", imports("protocol/central/a.go", `"go.etcd.io/raft/v3"`), []string{"go.etcd.io/raft/v3"}},
		{"imports", imports("protocol/consensus/a.go", `"go.etcd.io/raft/v3"`), nil},
		{"imports", imports("lock/a_test.go", `"os"; `+own+`/run"`), nil},
		// Engines.
		{"imports", imports("internal/run/a.go", `"sync"; `+own+`/session"; `+own+`/internal/clock"`), nil},
		{"imports", imports("internal/run/a.go", own+`/sim"`), []string{"holdfast/sim"}},
		{"imports", imports("sim/a.go", own+`/run"`), []string{"holdfast/run"}},
		{"imports", imports("internal/api/a.go", own+`/wire/api"`), nil},
		{"imports", imports("storage/pebble/a.go", own+`/storage"; "github.com/cockroachdb/pebble/v2"`), nil},
		{"imports", imports("storage/pebble/a.go", own+`/storage/redis"`), []string{"only storage"}},
		{"imports", imports("storage/pebble/a.go", own+`/internal/clock"`), []string{"only storage"}},
		{"imports", imports("internal/clock/a.go", own+`"`), []string{"nothing of this module"}},
		// The switch of the rules.
		{"imports", imports("protocol/a.go", own+`/internal/mutation"`), nil},
		{"imports", imports("sim/published/a.go", own+`/internal/mutation"`), nil},
		{"imports", imports("internal/host/a_test.go", own+`/internal/mutation"`), nil},
		{"imports", imports("internal/member/membership/a.go", own+`/internal/mutation"`), []string{"rules ask protocol.Mutated"}},
		{"imports", imports("internal/host/a.go", own+`/internal/mutation"`), []string{"in the simulator alone"}},
		{"imports", imports("cmd/holdfast/a.go", own+`/internal/mutation"`), []string{"in the simulator alone"}},
		{"imports", imports("internal/config/a.go", own+`/internal/mutation"`), []string{"in the simulator alone"}},
		// Edges and programs.
		{"imports", imports("internal/host/a.go", own+`/run"; `+own+`/session"; "go.uber.org/x"`), nil},
		{"imports", imports("internal/host/a.go", own+`/server"`), []string{"holdfast/server"}},
		{"imports", imports("internal/server/a.go", own+`/internal/load"`), []string{"holdfast/internal/load"}},
		{"imports", imports("client/a.go", own+`/session"; `+own+`/wire/api"`), nil},
		{"imports", imports("client/a.go", own+`/run"`), []string{"holdfast/run"}},
		{"imports", imports("cmd/holdfast/a.go", own+`/node"; `+own+`/internal/config"`), nil},
		{"imports", imports("internal/config/a.go", own+`/cmd/holdfast"`), nil},
		{"imports", imports("internal/load/a.go", own+`/client"`), []string{"nothing of this module"}},
		{"imports", imports("internal/load/target/a.go", own+`/client"; `+own+`/node"; `+own+`/internal/load"`), nil},
		{"imports", imports("odds/a.go", `"fmt"`), []string{"odds: this package is in no layer"}},
		{"imports", imports("internal/run/a.go", `. "fmt"`), []string{"fmt is imported without a name"}},

		{"grpc", imports("internal/host/a.go", `"google.golang.org/grpc/codes"`), []string{"google.golang.org/grpc/codes"}},
		{"grpc", imports("internal/run/a.go", `"google.golang.org/protobuf/proto"`), []string{"a.go:3: package \"run\""}},
		{"grpc", imports("internal/server/a.go", `"google.golang.org/grpc"`), nil},
		{"grpc", imports("internal/api/schema/a.go", `"google.golang.org/protobuf/proto"`), nil},

		{"logger", imports("lock/a.go", `"log/slog"`), []string{`imports "log/slog"`}},
		{"logger", imports("holdfast.go", `"log"`), []string{`imports "log"`}},
		{"logger", imports("internal/host/a.go", `"log/slog"`), nil},
	}
}
