// Package descriptors knows how many files and connections this process may have open at a time, how they are shared
// out, and which errors say that there are no more.
package descriptors
