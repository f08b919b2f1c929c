package main

import "testing"

// A command has the name under which it is made.
func TestMakers(t *testing.T) {
	for _, m := range new(program).makers() {
		if made := m.make(); made.Name != m.name {
			t.Errorf("the maker of %q makes %q", m.name, made.Name)
		}
	}
}
