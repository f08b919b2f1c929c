// Package draw makes pictures of runs: sequence diagrams as SVG, for people who want to see
// how a promise was broken, or how it was kept. How to read one is in docs/simulator.md.
//
//	var told []timeline.Event
//	… // the program that runs something tells its timeline
//	err := draw.Picture{Title: "central, seed 42"}.Write(file, told)
//
// It knows no protocol and no engine: a [timeline.Event] is all it sees, so that a run, a
// counter-example of a search and a replayed script are drawn alike.
//
// # From a timeline to a picture
//
//	read     (model.go)   events become things with a beginning and an end: messages,
//	                      grants, leases, lives; faults and views; the broken promise
//	choose   (choose.go)  a window and, by rank (rank.go), what in it is shown, what is a
//	                      tick and what is left out and counted
//	lay out  (layout.go)  lanes get their places by their widest label; then
//	                      everything its height, in the order of the timeline (axis.go, place.go)
//	write    (render.go)  what lies behind first, labels above lines, heads of arrows last
//
// # Decisions
//
//   - Time goes down and is not to scale. A scale would be empty where nothing happens and
//     black where a view changes; order is what matters, the axis has the times, and a
//     break says how long nothing happened.
//   - A label belongs to one gap between two lanes, and stands where its message arrives:
//     at one lane things arrive one after the other, while what is sent to all leaves at
//     once. So no two labels can overlap, which tests check by their boxes: the next one
//     is put below the last in its gap, and time goes on from there.
//   - Labels are monospaced, since only then the room that they take is known without
//     the reader's font. They lie on a pad of the ground's colour, which keeps the lines
//     that cross them away.
//   - A message that says nothing new is a tick: one that the reporter calls routine, and one that repeats
//     an earlier one between the same two in the same words, unless it comes late or twice.
//     This is what makes five members and two hundred events readable.
//   - Colour never carries a meaning alone. Late, doubled and lost messages differ in dashes
//     and ends, modes in outlines, marks in shapes; the broken promise has words. Colours
//     are two palettes, the dark one behind prefers-color-scheme; readers that do not
//     support it get the light one. A test computes their contrasts (WCAG 2.1).
//   - Text is text: it can be searched, copied and read aloud. Names come from outside,
//     and are escaped, shortened, and freed of what could hide or turn the text around it.
//   - The same timeline gives the same bytes, so that a picture can be kept and compared.
package draw
