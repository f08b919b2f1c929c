// Package parallel helps packages whose tests mostly wait: for leases, for sessions to end, for members to start.
// [Tests] lets more of them run at the same time than there are processors.
package parallel
