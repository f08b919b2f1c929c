package explore

import (
	"strconv"

	"github.com/holdfast-locks/holdfast/protocol/option"
)

// Options are the options of a space in which peers ask one another, and the users' demand there.
type Options struct {
	// Capacity makes each name so many entries, of which a user wants one. Zero means that users want the whole name.
	Capacity int
	// Units is the number of units of each name. The first user wants one, the next one more, and so on up to all but
	// one; then it starts again at one. Zero means that users want the whole name.
	Units int
	// Retain and Defer are as in package permission: a permission is kept until its giver asks, and a member that
	// defers says so.
	Retain, Defer bool
}

// Space returns the options of the members' spaces.
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

// String lists the set options, in the words of the command line, each after a space.
func (o *Options) String() (text string) {
	say := sayer(&text)
	say(o.Capacity > 0, " capacity=%d", o.Capacity)
	say(o.Units > 0, " units=%d", o.Units)
	say(o.Retain, " retain")
	say(o.Defer, " defer")
	return text
}
