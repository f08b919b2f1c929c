package main

import (
	"slices"
	"testing"

	"github.com/urfave/cli/v3"
)

// breaks are the characters at which bash breaks words by default.
const breaks = " \t\n\"'><=;|&(:"

// TestParseLine: the words of a line are those that bash would pass, and a reply continues what bash keeps of the last.
func TestParseLine(t *testing.T) {
	for _, row := range []struct {
		line  string
		words []string
		full  string
		reply string
	}{
		{"holdfast ", []string{""}, "show", "show"},
		{"holdfast show or", []string{"show", "or"}, "orders/42", "orders/42"},
		{"holdfast show a:b", []string{"show", "a:b"}, "a:bc d", `bc\ d`},
		{"holdfast show 'a:b", []string{"show", "a:b"}, "a:b it's", `a:b it'\''s`},
		{`holdfast show "a b`, []string{"show", "a b"}, `a b"$x`, `a b\"\$x`},
		{`holdfast show a\ b`, []string{"show", "a b"}, "a b c", `a\ b\ c`},
		{`holdfast show ""`, []string{"show", ""}, "x", "x"},
		{"holdfast locks --space=b", []string{"locks", "--space=b"}, "--space=billing", "billing"},
		{"holdfast locks --space='b", []string{"locks", "--space=b"}, "--space=billing", "billing"},
		{"holdfast locks --sp", []string{"locks", "--sp"}, "--space", "--space"},
		{"A=1 B=2 holdfast show y", []string{"show", "y"}, "y", "y"},
		{"echo $(holdfast show $x y", []string{"show", "$x", "y"}, "y", "y"},
		{"true && A=1 ./holdfast lock a 'b c' d", []string{"lock", "a", "b c", "d"}, "d!", `d\!`},
	} {
		got := parseLine(row.line, breaks)
		if !slices.Equal(got.words, row.words) {
			t.Errorf("%s: words %q, want %q", row.line, got.words, row.words)
		}
		if reply := got.reply(row.full); reply != row.reply {
			t.Errorf("%s: the reply for %q is %q, want %q", row.line, row.full, reply, row.reply)
		}
	}
}

// FuzzParseLine: no line of a shell makes it fail.
func FuzzParseLine(f *testing.F) {
	f.Add(`holdfast show "a b`, breaks, "a b c")
	f.Add(`x; 'y`, "", "--")
	f.Fuzz(func(_ *testing.T, line, breaks, word string) {
		_ = parseLine(line, breaks).reply(word)
	})
}

// TestFixedValues: the flags with fixed values exist.
func TestFixedValues(t *testing.T) {
	p := &program{args: []string{name}}
	var flags []string
	for _, flag := range flagsOf(&cli.Command{Commands: p.commands()}) {
		flags = append(flags, flag.Names()...)
	}
	for flag := range fixedValues {
		if !slices.Contains(flags, flag) {
			t.Errorf("no command has a flag --%s", flag)
		}
	}
}
