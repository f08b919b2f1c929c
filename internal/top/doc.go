// Package top is the live view of `holdfast top`: members, spaces, names and waits in a terminal.
//
// Data flows one way. A collector asks a member and counts its events; each refresh is a sample. [Model.Update] turns a
// message (a sample, a key, the passing of time) into the next state. [Model.View] turns the state into text.
//
// The collector sends one request at a time, at most a thousand names to a refresh, and takes at most a fifth of a
// member's time: after a refresh that took a second it waits for four. If the events of a space are more than
// eventBound between two refreshes, it follows them for a tenth of the time only.
package top
