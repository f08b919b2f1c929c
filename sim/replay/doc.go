// Package replay feeds a recorded run to fresh machines, and compares what they do with
// what was recorded, step by step.
//
// The machines are made from the trace's header by package internal/member, as the member's were.
// Each recorded event is fed to them at its recorded time; what they draw by chance comes
// from the trace. What they want done is written down as the recorder does
// it, and the two texts are compared line by line: sends, answers, what is raised and
// noted, and when they want to be woken. The first difference ends the replay, which reports
// its step, its time, its event, and what was wanted and got.
//
// Equal says more than that the trace is whole: it says that all that the machines take
// from outside is in their events, so that all that they do can be found out later. A map
// whose order shows, a clock that is read, a number drawn from anywhere else, would each
// make a difference here.
//
// A trace of another version of Holdfast may differ with good reason: then it shows
// what has changed. Where a machine broke an invariant and the process died, the replay
// breaks the same one, and says so; where the process was killed, the replay ends with the
// last step that was recorded whole.
package replay
