// Package shrink turns a failing run into the smallest script that fails in the same way, so that a person can see what
// is wrong.
//
// # What a script is
//
// A run draws thousands of values. Package sim names each of them, and [sim.Record] writes down those that differ from
// their defaults: a [sim.Script]. Played again, a script is the same run without any chance. Each choice that it omits
// has its default, and by default nothing goes wrong, nothing takes long and no user makes a call. So a smaller script
// is a calmer run, down to one in which all members start and find each other, and each worker takes each name once.
//
// A choice is named by its actor and act (client1.0 call#3 hold), not by its position on one long tape. So removing one
// does not shift all those after it.
//
// # How it shrinks
//
// A smaller script has fewer members, clients, workers, names or kinds of faults, omits some choices, ends earlier,
// does things sooner, or has rounder numbers. It is accepted if it fails in the same way: with the same outcome and the
// same promise or, for a crash, the same words; and if the caller accepts it: for a disabled rule, a failure that also
// happens with the rule in place would prove nothing about the rule. From coarse to fine:
//
//   - The time after the failure is cut off, then users, members, names and faults are removed.
//   - Choices are removed in groups: all of one kind and size (all delays below 10 ms), all of one process or link, all
//     of one act (a crash, a call), then one by one. Within each grouping this is delta debugging (Zeller and
//     Hildebrandt, 2002): large parts first, then halves of them.
//   - Idle time between events is shortened, durations too, and numbers are rounded; an event of the eighteenth message
//     of a kind moves to the first.
//
// All passes are repeated until nothing becomes smaller, or the budget is used up. The budget counts runs, not seconds,
// and a fixed number of candidates is tried together, regardless of how many of them run at a time: the same seed
// shrinks to the same script on every machine.
//
// The package knows no protocol, fault or message: choices have names, and a new kind of machine or fault brings its
// own.
package shrink
