package unordered

import (
	"reflect"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
	"github.com/holdfast-locks/holdfast/protocol/permission"
	"github.com/holdfast-locks/holdfast/sim/explore/snapshot"
)

// rules say what tells no states apart, because nothing that can happen here depends on it.
func rules(c *Config) []snapshot.Rule {
	leader := reflect.TypeFor[bakery.Machine]()
	machine, table := reflect.TypeFor[permission.Machine](), reflect.TypeFor[lock.Table]()
	of := func(in reflect.Type, field string) reflect.Type {
		f, _ := in.FieldByName(field)
		return f.Type
	}
	ticket := of(of(leader, "book").Elem(), "tickets").Elem().Elem()
	wanted := of(leader, "mine").Elem().Elem()
	allLead := func(reflect.Value) bool { return c.Members <= 3 }
	always := func(reflect.Value) bool { return true }
	return []snapshot.Rule{
		// Who held before is kept for people.
		{In: table, Field: "history", Moot: always},
		// Where to look first for a token: it is looked for elsewhere, too.
		{In: table, Field: "given", Moot: always},
		// The names that are there, sorted as far as listings and time have led to it.
		{In: table, Field: "order", Moot: always},
		// Room that is kept from one step to the next.
		{In: table, Field: "touched", Moot: func(in reflect.Value) bool { return in.FieldByName("touched").Len() == 0 }},
		// It is compared with what is 2²⁰ tokens away.
		{In: of(machine, "peers").Elem(), Field: "clock", Moot: always},
		// Envelopes come in turn and none is lost, so their numbers say nothing but the order in which they are under
		// way; what is said again, and when, is a matter of time.
		{In: reflect.TypeFor[bakery.Envelope](), Field: "Seq", Moot: always},
		{In: reflect.TypeFor[bakery.Envelope](), Field: "Seen", Moot: always},
		{In: leader, Field: "links", Moot: always},
		// Which members have answered to a ticket's entering is asked of one that does not want to wait; no user wants that here.
		{In: ticket, Field: "heard", Moot: func(in reflect.Value) bool { return !in.FieldByName("Try").Bool() }},
		// That one waits is told to people. Where all members lead, each is told that by itself, so that nothing is on
		// its way for it.
		{In: ticket, Field: "notified", Moot: allLead},
		{In: wanted, Field: "queued", Moot: allLead},
		{In: wanted, Field: "Request.Waits", Moot: allLead},
		{In: wanted, Field: "Request.notified", Moot: allLead},
		// The next stamp goes by the clock, which is no lower; but for a mutation, which is about that.
		{In: machine, Field: "lastStamp", Moot: func(reflect.Value) bool { return !protocol.Mutated("clock follows the last message") }},
	}
}
