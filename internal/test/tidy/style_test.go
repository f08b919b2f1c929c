package tidy_test

import "strings"

func stateExamples() []example {
	return []example{
		{"globals", one("lock/a.go", "package lock\nimport (\"errors\"; \"fmt\")\nvar ErrA = errors.New(\"a\")\nvar errB = fmt.Errorf(\"b: %w\", ErrA)\nvar names = [...]string{\"a\"}\nvar _ fmt.Stringer = (*t)(nil)"), nil},
		{"globals", one("lock/a.go", "package lock\nvar count int"), []string{"a.go:2: variable count of the package has no value"}},
		{"globals", one("lock/a.go", "package lock\nvar count = 3"), []string{"no literal"}},
		{"globals", one("lock/a.go", "package lock\nvar x = []*int{&y, new(int)}\nconst y = 1"), []string{"holds a pointer", "made to be filled"}},
		{"globals", one("lock/a.go", "package lock\nvar x = []int{1}\nfunc f() {\n\tx[0] = 2\n\tx[0]++\n\tx = append(x, 1)\n\tp := &x\n\tclear(x)\n\t_ = p\n}"),
			[]string{"a.go:4", "a.go:5", "a.go:6", "a.go:6", "a.go:7", "a.go:8"}},
		{"globals", one("lock/a.go", "package lock\nimport \"slices\"\nvar x = []int{1}\nfunc f() { slices.Sort(x) }"), []string{"a.go:4"}},
		{"globals", one("lock/a.go", "package lock\nvar x = []int{1}\nfunc f() {\n\tx := []int{x[0]}\n\tx[0] = 2\n}"), nil},
		{"globals", map[string]string{
			"lock/a.go":     "package lock\nvar Names = []string{\"a\"}",
			"protocol/b.go": "package protocol\nimport \"github.com/holdfast-locks/holdfast/lock\"\nfunc f() { lock.Names[0] = \"b\" }",
		}, []string{"protocol/b.go:3: variable Names"}},
		{"globals", one("node/a.go", "package node\nimport \"sync\"\nvar mu sync.Mutex"), []string{"a.go:3: variable mu of the package begins empty"}},
		{"globals", one("internal/server/a.go", "package server\nimport _ \"embed\"\n//go:embed a.json\nvar a []byte\nvar version = \"dev\""), nil},
	}
}

func styleExamples() []example {
	protocol := map[string]string{
		"protocol/central/doc.go":              "// Package central is.\npackage central",
		"protocol/central/central.go":          "package central",
		"protocol/central/testdata/first.txt":  "a -> b",
		"protocol/central/testdata/notes.json": "{}",
	}
	return []example{
		{"files", one("internal/run/a.go", "package p"+strings.Repeat("\n", 500)), nil},
		{"files", one("internal/run/a.go", "package p"+strings.Repeat("\n", 501)), []string{"501 lines, 500 lines are allowed"}},
		{"files", one("internal/run/a_test.go", "package p"+strings.Repeat("\n", 801)), []string{"801 lines, 800"}},
		{"files", one("internal/api/schema/a.pb.go", "package p"+strings.Repeat("\n", 900)), nil},
		{"files", one("lock/testdata/a.txt", strings.Repeat("\n", 601)), []string{"601 lines, 600"}},
		{"files", one("docs/a.txt", strings.Repeat("\n", 601)), nil},
		{"files", one("ARCHITECTURE.md", strings.Repeat("\n", 131)), []string{"ARCHITECTURE.md:131"}},

		{"docs", one("internal/run/a.go", "// Package run is.\npackage run"), []string{"internal/run/doc.go: no package comment"}},
		{"docs", one("internal/run/doc.go", "// Package run is.\npackage run"), nil},
		{"docs", one("holdfast.go", "// Package holdfast is.\npackage holdfast"), nil},
		{"docs", one("cmd/holdfast/main.go", "// Holdfast is.\npackage main"), []string{"cmd/holdfast/doc.go"}},
		{"docs", one("cmd/holdfast/doc.go", "// Holdfast is.\npackage main"), nil},

		{"comments", one("lock/a.go", "package lock\n// endSeat drops an entry.\nfunc endEntry() {}"), []string{"lock/a.go:2: the comment of endEntry begins with endSeat"}},
		{"comments", one("lock/a.go", "package lock\n// oldKind is one.\ntype newKind int\n// endEntry's work.\nfunc endEntry() {}"), []string{"newKind begins with oldKind"}},
		{"comments", one("lock/a.go", "// Package lock has a [Table], whose [Table.Show] shows, and a [Seat].\npackage lock\ntype Table struct{}"), []string{"links to Seat"}},
		{"comments", one("lock/a.go", "// Package lock has a [Table], of [other.Seat], [1], and [Text](link).\npackage lock\ntype Table struct{}"), nil},
		{"comments", one("lock/a.go", "package lock\n// Ends it.\nfunc endEntry() {}\n// What ends it.\nconst (\n\t// endNow is one.\n\tendNow = 1\n)"), nil},

		{"skeleton", protocol, nil},
		{"skeleton", one("protocol/central/a.go", "package central"), []string{"no doc.go", "no central.go", "no golden conversation"}},

		{"names", one("internal/run/a.go", "package helpers"), []string{"a.go:1: an empty name: package helpers"}},
		{"names", one("internal/run/a.go", "package run\ntype LockManager struct{}"), []string{"a.go:2: an empty name: type LockManager"}},
		{"names", one("internal/run/a.go", "package run\ntype Grant struct{}\nfunc helper() {}"), nil},

		{"receivers", one("internal/member/session/a.go", "package session\ntype M struct{}\nfunc (s *M) Step(now, ev, out int) {}\nfunc (m *M) Wake() {}\nfunc (x *M) f() {}"), []string{"a.go:3: method Step", "a.go:5: method f"}},
		{"receivers", one("protocol/central/a.go", "package central\ntype M struct{}\nfunc (m *M) Step(t int, ev int, out int) {}"), []string{"Step calls its parameter t"}},
		{"receivers", one("internal/member/session/a.go", "package session\ntype M struct{}\nfunc (m *M) Step(now, ev, out int) {}\ntype table struct{}\nfunc (t *table) f() {}"), nil},
		{"receivers", one("internal/run/a.go", "package run\ntype M struct{}\nfunc (r *M) Step(a, b, c int) {}"), nil},
	}
}

func wordExamples() []example {
	const mark = "TO" + "DO"
	const place = "/ho" + "me/"
	return []example{
		{"leaks", one("internal/run/a_test.go", "package run"), []string{"run: no test of this package looks for goroutines"}},
		{"leaks", one("a_test.go", "package holdfast"), []string{".: no test"}},
		{"leaks", one("lock/a_test.go", "package lock\nfunc f() { go f() }"), []string{"lock: no test"}},
		{"leaks", one("lock/a_test.go", "package lock\nfunc f(g group) { g.Go(f) }"), []string{"lock: no test"}},
		{"leaks", one("internal/run/a_test.go", "package run\nimport \"go.uber.org/goleak\"\nfunc f() { goleak.VerifyNone(nil) }"), []string{"run: no test"}},
		{"leaks", one("internal/run/a_test.go", "package run\nimport \"go.uber.org/goleak\"\nfunc TestMain(m *testing.M) { goleak.VerifyTestMain(m) }"), nil},
		{"leaks", one("lock/a_test.go", "package lock"), nil},
		{"leaks", one("internal/run/a.go", "package run\nfunc f() { go f() }"), nil},

		{"errors", one("internal/run/a.go", "package run\nvar e = errors.New(\"failed to open\")"), []string{"a.go:2"}},
		{"errors", one("internal/run/a.go", "package run\nvar e = fmt.Errorf(`Failed to open: %w`, e)"), []string{"a.go:2"}},
		{"errors", one("internal/run/a.go", "package run\nvar e = fmt.Errorf(\"open the cell: %w\", e)"), nil},

		{"unfinished", one("internal/run/a.go", "package run\n\n// "+mark+": more."), []string{"a.go:3"}},
		{"unfinished", one("README.md", "FIX"+"ME"), []string{"README.md:1"}},
		{"unfinished", one(".ci/run", "#!/bin/sh\n# XX"+"X\n"), []string{".ci/run:2"}},
		{"unfinished", one(".ci/run", "#!/bin/sh\nmktemp -d holdfast.XXXXXX\n"), nil},
		{"unfinished", one("internal/api/a.pb.go", "package wire // "+mark), nil},

		{"subjects", one("docs/a.md", "fine\nNo"+"body knows.\n"), []string{"docs/a.md:2"}},
		{"subjects", one("internal/api/schema/a.proto", "// for who"+"ever asks"), []string{"a.proto:1"}},
		{"subjects", one("internal/server/openapi.json", `{"description": "by who`+`m"}`), []string{"openapi.json:1"}},
		{"subjects", one("tools/start", "#!/bin/sh\n# some"+"body\n"), []string{"tools/start:2"}},
		{"subjects", one("docs/a.md", "What"+"ever it says.\n"), []string{"docs/a.md:1"}},
		{"subjects", one("internal/run/a.go", "package run\n\n// It is for no"+"body.\nvar x int"), []string{"internal/run/a.go:3"}},
		{"subjects", one("internal/run/a.go", "package run\n\n/* one\nfor who"+"m */\nvar no"+"body int"), []string{"internal/run/a.go:4"}},
		{"subjects", one("docs/a.md", "no body, and whomsoever\n"), nil},
		{"subjects", one("docs/a.md", "It is to"+"ld.\n"), []string{"docs/a.md:1"}},
		{"subjects", one("docs/a.md", "We are untold, and besides he is saying\n"), nil},
		{"subjects", one("internal/run/a.go", "package run\n\nvar e = errors.New(`a\nis sa"+"id`)"), []string{"a.go:4"}},
		{"subjects", one("internal/run/a.go", "package run\n\nvar user = `no"+"body`"), nil},
		{"subjects", one("internal/run/a_test.go", "package run\n\nvar e = `is sa"+"id`"), nil},
		{"translations", one("internal/run/a_test.go", "package run\n\nvar e = `"+strings.Repeat("is sa"+"id, ", 10)+"`"), nil},
		{"translations", one("internal/run/a_test.go", "package run\n\nvar e = `"+strings.Repeat("is sa"+"id, ", 11)+"`"), []string{"a_test.go:1: Go code has 11 words"}},

		{"places", one("README.md", "see "+place+"me/x\n"), []string{"README.md:1"}},
		{"places", one("a.txt", "x\n`"+place+"`\n"), []string{"a.txt:2"}},
		{"places", one("a.txt", "fetch from proxy.gol"+"ang.org"), []string{"a.txt:1"}},
		{"places", one("a.txt", "site"+place+"page and ~"+place+"x"), nil},
	}
}
