// Package snapshot copies the state of a machine, and computes a comparable form of it, without a handwritten Clone or
// Hash.
//
// A [Copier] walks the object graph below a pointer, unexported fields included, by plans that it makes once for every
// type. [Copier.Copy] returns a graph of the same shape that shares no mutable memory with the original. [Copier.Form]
// returns a [Form]; two graphs have equal forms if and only if they have the same shape and content.
//
// # What is kept
//
//   - Pointers: two that point to one object do so in the copy, and graphs that differ in this have different forms. A
//     pointer into the middle of an object (the lease of a view is a field of the membership) points into the middle of
//     its copy.
//   - Maps are copied entry by entry, and their forms do not depend on any order.
//   - Nil and empty slices and maps stay what they are.
//
// # What machines may not do
//
//   - Rely on two slices sharing an array: each slice is a value here, cut at its length. Appending to one never shows
//     in another.
//   - Change the target of an error: errors are shared, so that sentinels stay comparable.
//   - Keep functions, channels or unsafe pointers. A graph with one that is not nil cannot be copied; the error has the
//     path and the type.
//   - Use pointers or interfaces as keys of a map: their order would be that of addresses.
//
// # Numbers and times apart
//
// A Form keeps all integers, and all values of the type time.Duration, in separate lists. The rest is a digest of
// everything else, including which of the numbers are equal, and which is greater. So a caller that compares may
// rename: two states that differ only in their numbers have the same digest if the order of the numbers is the same.
// Integers of eight bits (kinds, modes) are content, not numbers.
//
// # Rules
//
// A caller describes the meaning of a field in a [Rule]: the field does not matter in some states of another field, and
// is then left out of the form; its number is only compared with those of its class; or its slice is a table, in which
// an entry only matters to code that knows its number. Forms list the values of a class separately, and do not record
// which times with a class are equal: a caller that renames them can tell.
//
// # How pointers into objects are found
//
// A type is embedded if a known type has it as a field or an element. Only pointers to such types can point into other
// objects. They are resolved by address after everything else has been copied, the largest first. When the walk meets a
// new type that embeds one so far counted as not embedded, it starts again.
package snapshot
