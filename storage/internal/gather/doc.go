// Package gather combines concurrent swaps, for drivers of package storage whose store can do many in one request.
//
//	g := gather.New(gather.Config{Lanes: 4, Most: 64, One: s.swapOne, Many: s.swapMany})
//	swapped, err := g.Swap(ctx, &storage.Swap{…})
//
// A request costs a store and its client much more than its contents: parsing, a transaction, a system call at either
// end. A process that locks by conditional writes usually has several of them to send, because it releases one lock
// while it takes the next. There are a few lanes: a swap that finds a free lane takes along the swaps gathered so far,
// and while all lanes are busy, swaps gather. No swap waits for later ones: a lone swap is sent alone, at once.
//
// # What is kept
//
// Each swap of a request succeeds or fails independently: package storage has no groups of swaps, and Many must not
// create any. No request has one column twice. A caller whose context ends returns at once; its swap's request
// continues for the others.
//
// # Bounds
//
// There are at most as many concurrent requests as lanes, each with at most Most swaps. The number of waiting swaps is
// that of the waiting callers.
package gather
