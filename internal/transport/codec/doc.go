// Package codec turns what members send to one another into bytes and back: the port of
// the machine that a message is for, as a varint, then the message as package
// protocol/wire writes it. Messages follow one another without anything between them.
//
// testdata has an example of each message of each protocol, so that a change of the format
// is noticed: it needs another transport.Version.
package codec
