package explore

import (
	"strconv"

	"github.com/holdfast-locks/holdfast/protocol/option"
)

// Options are those of a space in which peers ask one another, and what users want there.
type Options struct {
	// Capacity makes each name so many entries: users want one of them each. Zero means that
	// they want the whole name.
	Capacity int
	// Units is how many units each name has of which users want some: the first one, the next
	// one more, and so on up to all but one; then they begin again at one. Zero means that they
	// want the whole name.
	Units int
	// Retain and Defer are as in package permission: a permission is kept until its giver asks,
	// and who defers says so.
	Retain, Defer bool
}

// Space are the options of the members' spaces.
func (o *Options) Space() option.Values {
	given := option.Values{}
	if o.Capacity > 0 {
		given["capacity"] = strconv.Itoa(o.Capacity)
	}
	if o.Retain {
		given["retain"] = "true"
	}
	if o.Defer {
		given["defer"] = "true"
	}
	return given
}

// Demand is what a user wants of a name. A capacity of zero stands for an exclusive lock.
func (o *Options) Demand(user int) (units, capacity int) {
	switch {
	case o.Capacity > 0:
		return 1, o.Capacity
	case o.Units > 0:
		return 1 + user%(o.Units-1), o.Units
	}
	return 0, 0
}

// String says which are set, in the words of the command line, each after a space.
func (o *Options) String() (text string) {
	say := sayer(&text)
	say(o.Capacity > 0, " capacity=%d", o.Capacity)
	say(o.Units > 0, " units=%d", o.Units)
	say(o.Retain, " retain")
	say(o.Defer, " defer")
	return text
}
