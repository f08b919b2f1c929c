// Package page checks that documents show the code which a test runs.
package page
