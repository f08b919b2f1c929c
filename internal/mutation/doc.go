// Package mutation is the switch that disables one rule of the code, to show that the rule is needed: the simulator and
// its explorer must find, by the checks of the promises alone, what goes wrong without it.
//
// A rule has a name. At the rule, the code asks [Off]; a member's machines do so through protocol.Mutated:
//
//	if epoch == promised || protocol.Mutated("epoch check off") { ... }
//
// In a serving member the switch is empty for the life of the process. A query costs one inlined comparison of a length
// with a constant; names are compared only after that. No flag, variable or configuration key sets it: package
// internal/test/tidy lets only package protocol, a client's session and internal/takeall, which ask, and package sim
// and those below it, which run no member that a client could reach, import this package; and that it is internal keeps
// out every program that embeds a member.
//
// There is one switch per process, in a package variable: rules are in functions that have no configuration, and should
// not need one. It is set while no machine is running, and only read afterwards.
package mutation
