// Package turns lets things be done in turn: so many at a time, and the others in the order in which they were asked for. Where
// thousands are begun at once and all go on at the same time, each is finished when nearly all are, and those that wait
// for them give up before. In turn the first are finished soon.
//
// A member greets the connections of its clients so, and a process of clients makes its own so.
package turns
