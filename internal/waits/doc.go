// Package waits tells from listings of locks which parties wait for which others, and which waits can never end:
// deadlocks.
//
// A party is a session or, where its requests name owners, one owner of a session. A request waits for the parties whose
// locks it does not fit, and for the requests before it in the queue. A cycle of waits is a deadlock (Coffman, Elphick
// and Shoshani, "System Deadlocks", ACM Computing Surveys, 1971) if each party stops at its request until that is
// granted. So a party that waits for itself is none: a session without owners may have several goroutines.
//
// A listing of several names is not of one moment: a lock may be granted between two pages, and a cycle that no moment
// had may appear. So a deadlock is confirmed by a second listing, in which each of its waits is the same: the same
// request, behind the same grant or the same request ([Standing]).
package waits
