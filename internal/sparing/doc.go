// Package sparing keeps a log from saying the same sentence again and again: a [Log] lets each through once a minute, and
// knows how often it was held back in between.
package sparing
