// Package parallel is for the tests of packages that wait: for leases, for sessions that end, for members that start. [Tests]
// lets more of them run beside each other than there are processors.
package parallel
