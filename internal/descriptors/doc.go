// Package descriptors determines how many file descriptors this process may use, divides them up, and recognizes the
// errors that report their exhaustion.
package descriptors
