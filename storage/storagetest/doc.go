// Package storagetest is what every [storage.Store] must pass, and a way to make a good one
// fail as real ones do.
//
// [Run] is the conformance suite. A driver's test is short:
//
//	func TestConformance(t *testing.T) {
//		url := startServer(t)
//		storagetest.Run(t, func(tb testing.TB) storage.Store {
//			store, err := postgres.Open(tb.Context(), url)
//			if err != nil {
//				tb.Fatal(err)
//			}
//			return store
//		})
//	}
//
// [RunFaulty] is a smaller one, for a store that refuses, delays and answers that it does not
// know: what was acknowledged is there, what was refused is not, what takes effect does so whole,
// and a column that is written by Swap can be counted on once each unknown end was looked up.
// [NewFaulty] makes such a store of any other.
//
// # What the caller supplies
//
// Each call of open makes a new handle on the same store, as another process would. It is called
// on the goroutine of the subtest whose testing.TB it is given, so it may fail that subtest and
// register cleanups on it. The suite closes each handle, before those cleanups run. Rows have
// random keys, so one store serves many runs and subtests do not meet in it.
//
// What Features says that the store does not have is to be refused, and the subtests of it are
// skipped and say so.
//
// # How the suite waits
//
// No subtest sleeps and none compares durations, so none depends on how fast the machine is. Notices
// are waited for on a channel; what is to be forgotten is looked at again and
// again. Every wait is bounded by the subtest's patience, which ends only what is stuck. Only
// the subtest of TTL takes a while, about three seconds.
//
// Nothing is tried again in a store that is not made to fail, but for swaps that many race for:
// some stores answer those that lose with an ErrRefused or an ErrUnknown, which the contract
// allows, and the suite does what the contract says is to be done.
package storagetest
