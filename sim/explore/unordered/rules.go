package unordered

import (
	"reflect"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/permission"
	"github.com/holdfast-locks/holdfast/sim/explore/snapshot"
)

// rules say what tells no states apart, because nothing that can happen here depends on it.
func rules() []snapshot.Rule {
	machine, table := reflect.TypeFor[permission.Machine](), reflect.TypeFor[lock.Table]()
	of := func(in reflect.Type, field string) reflect.Type {
		f, _ := in.FieldByName(field)
		return f.Type
	}
	always := func(reflect.Value) bool { return true }
	return []snapshot.Rule{
		// Who held before is kept for people.
		{In: table, Field: "history", Moot: always},
		// Where to look first for a token: it is looked for elsewhere, too.
		{In: table, Field: "given", Moot: always},
		// Room that is kept from one step to the next.
		{In: table, Field: "touched", Moot: func(in reflect.Value) bool { return in.FieldByName("touched").Len() == 0 }},
		// It is compared with what is 2²⁰ tokens away.
		{In: of(machine, "peers").Elem(), Field: "clock", Moot: always},
		// The next stamp goes by the clock, which is no lower; but for a mutation, which is about that.
		{In: machine, Field: "lastStamp", Moot: func(reflect.Value) bool { return !protocol.Mutated("clock follows the last message") }},
	}
}
