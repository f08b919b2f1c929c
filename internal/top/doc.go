// Package top is the live view of `holdfast top`: members, spaces, names and waits in a terminal.
//
// Data flows one way. A collector asks a member and counts its events; each refresh is a sample. [Model.Update] turns a
// message (a sample, a key, the passing of time) into the next state. [Model.View] turns the state into text.
//
// The collector sends one request at a time, at most a thousand names to a refresh and ten busy ones beyond those, and
// takes at most a fifth of a member's time: after a refresh that took a second it waits for four. If there are more
// events than eventBound between two refreshes, it takes the rates from these and follows no events for five minutes: a
// busy member pays for a watcher, and for a minute after it has left.
package top
