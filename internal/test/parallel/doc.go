// Package parallel is for the tests of packages that wait: for leases, for sessions that end, for members that start. [Tests]
// lets more of them run at the same time than there are processors.
package parallel
