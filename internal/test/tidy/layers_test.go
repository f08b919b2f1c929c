package tidy_test

// one is a tree of one file.
func one(path, source string) map[string]string { return map[string]string{path: source} }

// imports is a tree of one file that imports packages of this module by their folders.
func imports(path string, folders ...string) map[string]string {
	source := "package p\n"
	for _, folder := range folders {
		source += "import \"github.com/holdfast-locks/holdfast" + folder + "\"\n"
	}
	return one(path, source)
}

func layerExamples() []example {
	return []example{
		// Nouns.
		{"imports", one("holdfast.go", "package p\nimport \"context\"\nimport \"golang.org/x/sys/unix\""), nil},
		{"imports", imports("holdfast.go", "/lock"), []string{`holdfast.go:2: package "" imports github.com/holdfast-locks/holdfast/lock`}},
		{"imports", imports("storage/a.go", ""), []string{"nothing of this module"}},
		// Rules.
		{"imports", imports("lock/replica/a.go", "", "/lock"), nil},
		{"imports", imports("lock/a.go", "/protocol"), []string{"of this module it may import only the root"}},
		{"imports", imports("lock/a_test.go", "/internal/run"), nil},
		{"imports", imports("protocol/a.go", "/internal/member/session"), []string{"member/session"}},
		{"imports", imports("internal/member/session/a.go", "/internal/member/membership"), nil},
		{"imports", imports("internal/member/session/a.go", "/internal/clock"), []string{"internal/clock"}},
		{"imports", imports("internal/member/a.go", "/internal/member/session", "/protocol/central"), nil},
		{"imports", imports("protocol/central/a.go", "/protocol/authority"), nil},
		{"imports", imports("protocol/central/a.go", "/protocol/grantor"), []string{"protocol/grantor"}},
		{"imports", imports("protocol/central/a.go", "/internal/disk/cell"), []string{"internal/disk/cell"}},
		{"imports", imports("protocol/central/a.go", "/internal/api"), []string{"internal/api"}},
		{"imports", imports("protocol/consensus/shard/a.go", "/protocol/consensus/group"), nil},
		// Engines.
		{"imports", imports("internal/run/a.go", "/internal/member/session", "/internal/clock"), nil},
		{"imports", imports("internal/run/a.go", "/sim"), []string{"holdfast/sim"}},
		{"imports", imports("sim/a.go", "/internal/run"), []string{"internal/run"}},
		{"imports", imports("sim/a.go", "/protocol/protocoltest"), []string{"protocol/protocoltest"}},
		{"imports", imports("sim/explore/unordered/a.go", "/protocol/bakery"), []string{"protocol/bakery"}},
		{"imports", imports("internal/member/a.go", "/protocol/protocoltest"), []string{"not protocol/protocoltest, "}},
		{"imports", imports("internal/api/a.go", "/internal/api/schema"), nil},
		{"imports", imports("storage/pebble/a.go", "/storage"), nil},
		{"imports", imports("storage/pebble/a.go", "/storage/redis"), []string{"only storage"}},
		{"imports", imports("storage/pebble/a.go", "/internal/clock"), []string{"only storage"}},
		{"imports", imports("internal/clock/a.go", ""), []string{"nothing of this module"}},
		// The switch of the rules.
		{"imports", imports("protocol/a.go", "/internal/mutation"), nil},
		{"imports", imports("sim/published/a.go", "/internal/mutation"), nil},
		{"imports", imports("internal/takeall/a.go", "/internal/mutation"), nil},
		{"imports", imports("node/a_test.go", "/internal/mutation"), nil},
		{"imports", imports("internal/member/membership/a.go", "/internal/mutation"), []string{"rules ask protocol.Mutated, "}},
		{"imports", imports("internal/host/a.go", "/internal/mutation"), []string{"in the simulator alone"}},
		{"imports", imports("cmd/holdfast/a.go", "/internal/mutation"), []string{"in the simulator alone"}},
		{"imports", imports("internal/config/a.go", "/internal/mutation"), []string{"in the simulator alone"}},
		// Edges and programs.
		{"imports", imports("internal/host/a.go", "/internal/run", "/internal/member/session"), nil},
		{"imports", imports("node/a.go", "/internal/host", "/internal/api", "/protocol/claim"), nil},
		{"imports", imports("node/a.go", "/internal/server"), []string{"internal/server"}},
		{"imports", imports("internal/host/a.go", "/node"), []string{"holdfast/node"}},
		{"imports", imports("internal/host/a.go", "/internal/test/parallel"), []string{"test/parallel"}},
		{"imports", imports("storelock/a.go", "/node", "/internal/host", "/protocol/claim"), nil},
		{"imports", imports("client/a.go", "/internal/clock/clocktest"), []string{"clocktest"}},
		{"imports", imports("storelock/a.go", "/client"), []string{"only the root, storage"}},
		{"imports", imports("internal/server/a.go", "/internal/load"), []string{"internal/load"}},
		{"imports", imports("client/a.go", "/internal/api/schema"), nil},
		{"imports", imports("client/a.go", "/internal/run"), []string{"internal/run"}},
		{"imports", imports("cmd/holdfast/a.go", "/node", "/internal/config"), nil},
		{"imports", imports("internal/config/a.go", "/cmd/holdfast"), nil},
		{"imports", imports("internal/load/limit/a.go", "/client"), []string{"nothing of this module"}},
		{"imports", imports("internal/load/target/a.go", "/client", "/node", "/internal/load"), nil},
		{"imports", imports("odds/a.go", ""), []string{"odds: this package is in no layer"}},
	}
}
