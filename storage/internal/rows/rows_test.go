package rows

import (
	"errors"
	"fmt"
	"testing"

	"github.com/holdfast-locks/holdfast/storage"
)

// TestRows: each row comes once, whole, if its key begins with the prefix; and the first error ends the scan.
func TestRows(t *testing.T) {
	var got string
	failure := errors.New("enough")
	r := Rows{Prefix: "a", Found: func(key string, entries []storage.Entry) error {
		got += fmt.Sprintf("%s%v ", key, entries)
		if key == "ac" {
			return failure
		}
		return nil
	}}
	for _, cell := range []string{"a1", "a2", "b1", "ab1", "ac1", "ac2"} {
		key, column := cell[:len(cell)-1], cell[len(cell)-1:]
		if err := r.Add(key, storage.Entry{Column: column, Value: "v"}); err != nil {
			t.Fatal(cell, err)
		}
	}
	if err := r.Add("ad", storage.Entry{}); !errors.Is(err, failure) {
		t.Error(err)
	}
	if want := "a[{1 v} {2 v}] ab[{1 v}] ac[{1 v} {2 v}] "; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if err := new(Rows).End(); err != nil {
		t.Error("a scan without rows:", err)
	}
}
