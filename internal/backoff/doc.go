// Package backoff spaces attempts that are repeated until one succeeds.
//
// A [Backoff] draws growing, random pauses, so that many callers that failed together do not come back together. [Sleep]
// passes one, and any other time, unless a context ends first. A caller decides which error is worth another attempt, and
// when a success has lasted long enough to begin with the shortest pause again.
package backoff
