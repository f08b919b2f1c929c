package api_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
)

// The same documents without encoders of their own.
type (
	bareLock  api.Lock
	bareGrant api.Grant
	bareWait  api.Wait
)

// TestAppended: what is appended is what encoding/json makes of the same fields, whichever of them are
// set and any text in them; what is in a list may always stand in HTML.
func TestAppended(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var lock api.Lock
		fill(t, random, reflect.ValueOf(&lock).Elem())
		sameJSON(t, lock, bareLock(lock))
		sameJSON(t, &lock, bareLock(lock))
		want := encode(t, []bareLock{bareLock(lock), {}}, true)
		if got := encode(t, api.List[api.Lock]{lock, {}}, false); got != want {
			t.Fatalf("a list is written\n%s\nwant\n%s", got, want)
		}
		for _, g := range lock.Holders {
			sameJSON(t, g, bareGrant(g))
		}
		for _, w := range lock.Waiters {
			sameJSON(t, w, bareWait(w))
		}
		if text := string(lock.AppendJSON([]byte("before"))); text != "before"+encode(t, bareLock(lock), true) {
			t.Fatalf("appended %s", text)
		}
	}
	sameJSON(t, api.List[api.Lock]{}, []bareLock{})
	sameJSON(t, api.List[api.Lock](nil), []bareLock{})
}

// TestAppendingAllocates: a document that needs no escapes is written where there is room for it, and nowhere else.
func TestAppendingAllocates(t *testing.T) {
	now := api.At(time.Now())
	grant := api.Grant{Owner: "o", Session: "a-1", Member: "m1", Client: "c", Token: 9, Since: now, Until: now, Reason: "why", Grace: true}
	lock := api.Lock{
		Space: "s", Name: "n", Mode: holdfast.ModeSlots, Units: 2, Capacity: 3, Token: 9, Holders: api.List[api.Grant]{grant, grant},
		Waiters: api.List[api.Wait]{{Owner: "p", Since: now, For: api.List[string]{"m2"}}},
	}
	room := make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(100, func() { lock.AppendJSON(room) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func sameJSON(t *testing.T, document, bare any) {
	t.Helper()
	for _, html := range []bool{false, true} {
		if got, want := encode(t, document, html), encode(t, bare, html); got != want {
			t.Fatalf("HTML %v: %T is written\n%s\nwant\n%s", html, document, got, want)
		}
	}
}

func encode(t *testing.T, document any, html bool) string {
	t.Helper()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(html)
	if err := encoder.Encode(document); err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSuffix(text.Bytes(), []byte("\n")))
}

// fill sets two thirds of all fields to something.
func fill(t *testing.T, random *rand.Rand, v reflect.Value) {
	t.Helper()
	if random.IntN(3) == 0 {
		return
	}
	texts := []string{"plain", "", `a "quote" \ and more`, "<a href='&'>", "orders/ü\u2028", "\xff bad \xc3", "\x00\t\n\x7f", "~ !"}
	switch {
	case v.Type() == reflect.TypeFor[api.Time]():
		at := time.Unix(random.Int64N(1<<33), random.Int64N(1e9)).In(time.FixedZone("", 3600))
		v.Set(reflect.ValueOf(api.At(at)))
	case v.Type() == reflect.TypeFor[holdfast.Mode]():
		v.SetUint(random.Uint64N(3))
	case v.Kind() == reflect.String:
		v.SetString(texts[random.IntN(len(texts))])
	case v.Kind() == reflect.Int:
		v.SetInt(random.Int64() - 1<<62)
	case v.Kind() == reflect.Uint64:
		v.SetUint(random.Uint64())
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), random.IntN(4), 4))
		for i := range v.Len() {
			fill(t, random, v.Index(i))
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(t, random, v.Field(i))
		}
	default:
		t.Fatalf("no value for a %v: say here what it can be", v.Type())
	}
}
