// Package snapshot copies the state of a machine, and says in a form that can be
// compared what that state is, though no author has written a Clone or a Hash for it.
//
// A [Copier] walks the graph of objects below a pointer by plans that it makes once for
// every type, unexported fields included. [Copier.Copy] returns a graph of the same shape that
// shares nothing that can change with the first; [Copier.Form] returns a [Form], which two
// graphs have in common if and only if they are of one shape and one content.
//
// # What is kept
//
//   - Pointers: two that point to one object do so in the copy, and two graphs that
//     differ in that differ in form. A pointer into the middle of an object (the lease
//     of a view is a field of the membership) points into the middle of its copy.
//   - Maps are copied entry by entry, and their forms do not depend on any order.
//   - Nil and empty slices and maps stay what they are.
//
// # What machines may not do
//
//   - Rely on two slices sharing an array: each slice is a value here, cut at its
//     length. Appending to one never shows in another.
//   - Change what an error points to: errors are shared, so that sentinels stay
//     themselves.
//   - Keep functions, channels or unsafe pointers. A graph with one that is not nil
//     cannot be copied; the error names the path and the type.
//   - Use pointers or interfaces as keys of a map: their order would be that of
//     addresses.
//
// # Numbers and times apart
//
// A Form keeps all integers, and all values of the type time.Duration, in lists of their
// own. What remains is a digest of everything else, of which of the numbers are equal,
// and of which is greater. So a caller that compares may rename: two states that differ in
// their numbers alone have the same digest where the order of the numbers is the same.
// Integers of eight bits (kinds, modes) are content, not numbers.
//
// # Rules
//
// A caller that knows what a field is for says so in a [Rule]: that it says nothing while some
// other field is as it is, and then it is in no form; that its number is compared with those
// of its class alone; that its slice is a table, of which an entry matters to code that knows
// its number. Forms keep apart what a class was given, and do not say which of the times that
// have one are equal: a caller that renames them can tell.
//
// # How pointers into objects are found
//
// A type is embedded where a known type has it as a field or an element. Only pointers
// to such types can point into something else. They are resolved when everything else
// has been copied, by their addresses, the largest first. When a type is met for the
// first time that embeds one which counted as not embedded, the walk begins again.
package snapshot
