// Package mutation is the switch that takes one rule out of the code, to show
// what the rule is for: the simulator and its explorer must find, by the checks
// of the promises alone, what goes wrong without it.
//
// A rule has a name. Where it stands, the code asks [Off], a member's machines by way of protocol.Mutated:
//
//	if epoch == promised || protocol.Mutated("epoch check off") { ... }
//
// In a member that serves the switch is empty for as long as the process lives. Asking
// costs one comparison of a length with a constant, inlined; names are compared only behind
// that. No flag, variable or key of a configuration leads here: package internal/test/tidy lets only
// package protocol, a client's session and internal/takeall, which ask, and package sim and those below it, which run no member
// that a client could reach, import this package; and that it is internal keeps out every
// program that embeds a member.
//
// The switch is one for the process, which is why it is a package's variable: rules stand
// in functions that know no configuration, and must not have to be handed one. It is set
// when no machine is running, and is then only read.
package mutation
