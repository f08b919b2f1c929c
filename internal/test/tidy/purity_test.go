package tidy_test

func purityExamples() []example {
	return []example{
		{"concurrency", one("lock/a.go", "package lock\nfunc f() { go f() }"), []string{"a.go:2: a goroutine"}},
		{"concurrency", one("lock/a.go", "package lock\ntype t struct {\n\tc chan int\n}"), []string{"a.go:3: a channel"}},
		{"concurrency", one("lock/a.go", "package lock\nfunc f() {\n\tselect {\n\tcase c <- <-d:\n\t}\n}"), []string{"3: a select", "4: a send", "4: a receive"}},
		{"concurrency", one("internal/run/a.go", "package run\nfunc f(c chan int) { go f(c) }"), nil},
		{"concurrency", one("lock/a.go", "package lock\nfunc f(x *int) int { return -*x }"), nil},

		{"order", one("lock/a.go", "package lock\nfunc f(m map[int]int) (s []int) {\n\tfor k := range m {\n\t\ts = append(s, k)\n\t}\n\treturn\n}"), []string{"a.go:3: a range over a map"}},
		{"order", one("lock/a.go", "package lock\ntype t map[int]int\ntype u struct{ t }\nfunc f(x u) {\n\tfor _, v := range x.t {\n\t\tprintln(v)\n\t}\n}"), []string{"a.go:5"}},
		{"order", one("lock/a.go", "package lock\nfunc f[M ~map[K]int, K comparable](m M) {\n\tfor k := range m {\n\t\tprintln(k)\n\t}\n}"), []string{"a.go:3"}},
		{"order", map[string]string{
			"lock/a.go":     "package lock\ntype Table struct{ Names map[string]int }",
			"protocol/b.go": "package protocol\nimport \"github.com/holdfast-locks/holdfast/lock\"\nfunc f(t lock.Table) {\n\tfor k := range t.Names {\n\t\tprintln(k)\n\t}\n}",
		}, []string{"protocol/b.go:4"}},
		{"order", one("lock/a.go", "package lock\nimport \"maps\"\nfunc f(m map[int]int) {\n\tfor k := range maps.Keys(m) {\n\t\tprintln(k)\n\t}\n}"), []string{"a.go:4: the order of a map shows through maps.Keys"}},
		{"order", one("lock/a.go", "package lock\nimport (\"maps\"; \"slices\")\nfunc f(m map[int]int) []int { return slices.Sorted(maps.Keys(m)) }"), nil},
		{"order", one("lock/a.go", "package lock\nfunc f(s []int) {\n\tfor k := range s {\n\t\tprintln(k)\n\t}\n\tfor range 3 {\n\t}\n}"), nil},
		{"order", one("lock/a.go", "package lock\nfunc f(m map[int]int) (n int) {\n\tfor range m {\n\t\tn++\n\t}\n\t//tidy:unordered a sum\n\tfor _, v := range m {\n\t\tn += v\n\t}\n\treturn\n}"), nil},
		{"order", one("lock/a.go", "package lock\nfunc f(m map[int]int) {\n\t//tidy:unordered\n\tfor k := range m {\n\t\tprintln(k)\n\t}\n}"), []string{"a.go:3: //tidy:unordered gives no reason"}},
		{"order", one("lock/a.go", "package lock\n\n//tidy:unordered a sum\nfunc f() {}"), []string{"waives nothing here"}},
		{"order", one("sim/a.go", "package sim\n\n//tidy:unordered a sum\nfunc f() {}"), nil},
		{"order", one("lock/a.go", "package lock\nfunc f() {\n\tfor k := range missing {\n\t\tprintln(k)\n\t}\n}"), []string{"has no type"}},
		{"order", one("internal/run/a.go", "package run\nfunc f(m map[int]int) {\n\tfor k := range m {\n\t\tprintln(k)\n\t}\n}"), nil},
	}
}
