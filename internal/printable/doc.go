// Package printable shows foreign text on terminals, in tables and in sentences, so that it can neither control them
// nor look like other text.
package printable
