// Package clocktest has a clock that a test moves by hand.
package clocktest
