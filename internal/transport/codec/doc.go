// Package codec encodes and decodes messages between members: the port of the receiving machine, as a varint, then the
// message as package protocol/wire writes it. Messages follow one another without separators.
//
// testdata has an example of each message of each protocol, to detect a change of the format: that needs another
// transport.Version.
package codec
