// Package storagetest is the conformance suite that every [storage.Store] must pass, with a wrapper that makes a good
// store fail as real ones do.
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
// [RunFaulty] is a smaller suite, for a store that refuses and delays requests and reports unknown outcomes. It checks
// that acknowledged writes are there, that refused ones are not, that each takes effect as a whole, and that a column
// written by Swap counts correctly once each unknown outcome was looked up. [NewFaulty] makes such a store from any
// other.
//
// # What the caller supplies
//
// Each call of open returns a new handle on the same store, as another process would have. It runs on the goroutine of
// the subtest whose testing.TB it receives, so it may fail that subtest and register cleanups on it. The suite closes
// each handle, before those cleanups run. Rows have random keys, so one store serves many runs and subtests do not
// collide.
//
// The store must refuse requests for features that its Features lack, and subtests of those are skipped with a message.
//
// # How the suite waits
//
// No subtest sleeps or compares durations, so none depends on the speed of the machine. The suite waits for notices on
// a channel, and polls for columns that must expire. The subtest's patience limits every wait; only a stuck test
// reaches it. Only the subtest of TTL takes a while, about three seconds.
//
// The suite retries nothing in a store that is not made to fail, except swaps in a race of many: some stores answer the
// losers with an ErrRefused or an ErrUnknown, which the contract allows, and the suite does what the contract
// prescribes.
package storagetest
