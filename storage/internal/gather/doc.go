// Package gather sends swaps together that are there together, for drivers of package storage
// whose store can do many in one request.
//
//	g := gather.New(gather.Config{Lanes: 4, Most: 64, One: s.swapOne, Many: s.swapMany})
//	swapped, err := g.Swap(ctx, &storage.Swap{…})
//
// A request costs a store and its client much more than what is in it: parsing, a transaction, a
// system call at either end. A process that locks by conditional writes has several of them to
// send at most times, for it gives one lock back while it takes the next. So there are a few
// lanes; a swap that finds one free takes along what has gathered by then, and while all are
// busy swaps gather. No swap waits for others to come: a swap alone is sent at once, alone.
//
// # What is kept
//
// Each swap of a request is done or not for itself: package storage knows no swaps that belong
// together, and Many must not make them so. No request has one column twice. A caller whose
// context ends returns at once; what was sent for it goes on for the others.
//
// # Bounds
//
// As many requests are under way as there are lanes, each with as many swaps as Most says. What
// waits is what callers wait for.
package gather
