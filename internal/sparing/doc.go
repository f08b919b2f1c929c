// Package sparing limits repeated log messages: a [Log] lets each message through once a minute, and counts how often
// it was held back in between.
package sparing
