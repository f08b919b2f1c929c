// Package draw makes pictures of runs: sequence diagrams as SVG, which show how a promise was broken or kept.
// docs/simulator.md explains how to read one.
//
//	var told []timeline.Event
//	… // the program reports the timeline of its run
//	err := draw.Picture{Title: "central, seed 42"}.Write(file, told)
//
// The package knows no protocol and no engine: it sees only [timeline.Event] values, so that a run, a counter-example
// of a search and a replayed script are drawn alike.
//
// # From a timeline to a picture
//
//	read     (model.go)   events become elements with a beginning and an end: messages,
//	                      grants, leases, lives; faults and views; the broken promise
//	choose   (choose.go)  a window and, by rank (rank.go), the elements that are shown,
//	                      become ticks, or are left out and counted
//	lay out  (layout.go)  lanes are placed by their widest label; then everything gets
//	                      its height, in the order of the timeline (axis.go, place.go)
//	write    (render.go)  the background first, labels above lines, heads of arrows last
//
// # Decisions
//
//   - Time goes down and is not to scale. A scale would be empty while nothing happens and black where a view changes.
//     The order matters; the axis has the times, and a break gives the length of a silence.
//   - A label belongs to one gap between two lanes, and is placed at the arrival of its message: arrivals at one lane
//     come one after the other, while a broadcast leaves at once. So no two labels can overlap, which tests check by
//     their boxes: each label is placed below the last one in its gap, and time continues from there.
//   - Labels are monospaced, since only then their width is known without the reader's font. They have a pad in the
//     background colour, which hides the lines that cross them.
//   - A message without news is a tick: one that the reporter calls routine, and one that repeats an earlier message
//     between the same two in the same words, unless it is late or duplicated. This keeps five members and two hundred
//     events readable.
//   - Colour never carries a meaning alone. Late, duplicated and lost messages differ in dashes and ends, modes in
//     outlines, marks in shapes; the broken promise has words. There are two palettes, the dark one behind
//     prefers-color-scheme; readers without support for it get the light one. A test computes their contrasts (WCAG
//     2.1).
//   - Text is text: it can be searched, copied and read aloud. Names come from outside; they are escaped, shortened,
//     and cleaned of characters that could hide or turn the text around them.
//   - The same timeline gives the same bytes, so that a picture can be kept and compared.
package draw
