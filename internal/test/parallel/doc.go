// Package parallel is for tests that mostly wait: for leases, for ends of sessions, for starts of members. [Tests] runs
// more of them at the same time than there are processors.
package parallel
