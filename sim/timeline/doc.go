// Package timeline describes the events of a run as values: lives of processes, messages and their outcome, grants and
// their duration, faults, and the broken promise. A trace has the same as lines for people; a timeline is for programs
// that show a run or compare two.
//
// # Sources
//
// Package sim reports the timeline of a seed (sim.Config.Observe), a search through all interleavings that of its
// counter-example, and a replay that of its script. The reporter calls a function with one [Event] after the other:
//
//	var told []timeline.Event
//	config.Observe = func(h timeline.Event) { told = append(told, h) }
//
// # Consumers
//
// Package sim/draw makes a picture of a timeline. It knows no protocol, and nothing here names one: a message is its
// text, and the reporter, which knows the protocol, marks it as routine.
//
// # Guarantees
//
// [Check] reports whether events are a timeline; tests of the reporters call it:
//
//   - Time does not run backwards.
//   - A lane is introduced ([Lane]) before its first event.
//   - Each message has a unique number, and is Sent or Copied before it is Delivered or Lost, which happens at most
//     once; a message without either was in flight when the timeline ended.
//   - Each grant is Granted, then Ended, at most once; for a hold that is open at the end, the timeline usually has a
//     Held with the end of its holder's belief.
package timeline
