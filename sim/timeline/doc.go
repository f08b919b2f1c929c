// Package timeline says what happened in a run, as values: who lived, what was sent and what
// became of it, who held what and for how long, what was broken, and which promise was not
// kept. A trace has the same as lines for people; a timeline is for programs that show a run
// or compare two.
//
// # Who tells
//
// Package sim tells one of a seed (sim.Config.Observe); a search through all interleavings
// tells that of its counter-example, and a replay that of its script. The reporter calls
// a function with one [Event] after the other:
//
//	var told []timeline.Event
//	config.Observe = func(h timeline.Event) { told = append(told, h) }
//
// # Who listens
//
// Package sim/draw makes a picture of it. It knows no protocol, and nothing here names one:
// a message is its text, and the reporter, which knows the protocol, says that it is routine.
//
// # What can be relied on
//
// [Check] says whether events are one; tests of the reporters call it:
//
//   - time does not run backwards;
//   - a lane is introduced before anything happens to it ([Lane]);
//   - each message has a number of its own, and is Sent or Copied before it is Delivered or
//     Lost, which happens at most once; what never is, was under way when the timeline ended;
//   - so it is with grants: Granted, then Ended, at most once; and a hold that the timeline
//     leaves open has, as a rule, a Held that says until when its holder believes in it.
package timeline
