// Package replay feeds a recorded run to fresh machines, and compares their effects with the recorded ones, step by
// step.
//
// Package internal/member makes the machines from the trace's header, as it made the member's. Each recorded event is
// fed to them at its recorded time; their random draws come from the trace. Their effects are written as the recorder
// writes them, and the two texts are compared line by line: sends, answers, raised facts, notes and wake-up times. The
// first difference ends the replay, which reports its step, its time, its event, and the wanted and actual lines.
//
// Equality proves more than a complete trace: it proves that all inputs of the machines are in their events, so that
// their behaviour can be reproduced later. A map with a visible order, a clock that is read, or a random number from
// another source would each make a difference.
//
// A trace of another version of Holdfast may differ for a good reason: then it shows what has changed. If a machine
// broke an invariant and the process died, the replay breaks the same one, and reports it; if the process was killed,
// the replay ends with the last complete step.
package replay
