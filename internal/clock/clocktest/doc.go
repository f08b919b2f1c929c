// Package clocktest provides a clock that a test moves by hand.
package clocktest
