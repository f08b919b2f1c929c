// Package shrink makes of a run that fails the smallest script that fails in the same
// way, so that a person can read what is wrong.
//
// # What a script is
//
// A run draws thousands of things. Package sim gives each of them a name, and
// [sim.Record] writes down those that are not as usual: a [sim.Script]. Played again, a
// script is the same run without any chance; what it does not say is as usual, and
// usually nothing goes wrong, nothing takes long and no user asks for anything. So a
// smaller script is a calmer run, down to one where all members start, find together,
// and each worker takes each name once.
//
// Because a choice is named by whose act it belongs to (client1.0 call#3 hold) and not by
// its place on one long tape, leaving one out does not shift all that come after it.
//
// # How it shrinks
//
// A smaller script is one of fewer members, clients, workers, names, kinds of faults, one
// without some of its choices, one that ends earlier or does things sooner, or one with
// rounder numbers. It is taken where it fails in the same way: with the same outcome and
// the same promise, or, of a crash, the same words; and where the caller accepts it:
// of a rule that is switched off, what breaks a promise with the rule in place, too, would
// say nothing about the rule. From coarse to fine:
//
//   - the time after the failure is cut off, then users, members, names and faults go;
//   - choices go in groups: all of one kind and size (all delays below 10 ms), all of one
//     process or link, all of one act (a crash, a call), then one by one. Within each
//     grouping it is delta debugging (Zeller and Hildebrandt, 2002): large parts first,
//     then halves of them;
//   - idle time between what happens is shortened, durations too, and numbers are made round;
//     what happens to the eighteenth message of its kind happens to the first.
//
// All that is repeated until nothing becomes smaller, or until the budget is used up. The
// budget counts runs, not seconds, and several candidates are always tried together,
// however many of them run at a time: the same seed shrinks to the same script on every
// machine.
//
// Nothing here knows a protocol, a fault or a message: choices have names, and a new kind
// of machine or fault brings its own.
package shrink
