// Package golden plays golden conversations: text files with the inputs of machines, each followed by the machines'
// output. It is the only reader, player and writer of that format.
//
//	# A lock that is held is waited for.
//	members a b
//	view epoch=4
//	  a: serving reign 4
//	lock a1 #1 X
//	  call a1 #1 granted X token=4:1
//	lock b1 #1 X wait=1s
//	    b→a acquire 2-1 w1 "X"
//
// A line that begins with # is a comment. A line that begins with two spaces is the machines' output. Every other line
// is an input: a verb, words, and options as key=value or as a word alone, in any order after the words. Empty lines
// are ignored. All inputs of a file go to the same machines, one after the other. An unread or missing word fails the
// test.
//
// A test passes if the machines' output after each input equals the text below it. With -rewrite the file is rewritten
// with their present output.
//
// A package gives [Play] a function that makes the machines, and returns a function that plays one [Line] and returns
// its output. Each package has its own verbs, except the requests of clients and operators, which [Line.Call] reads,
// and their results, which [Names] formats. A client is written as its member and its number: b7.
//
//	lock b7 #1 X [try] [wait=1s] [hold=1s] [shared] [slots=2/5] [owner=o] [client=c] [reason=r] [belief=1s] [age=1s]
//	unlock b7 [#1] X [token=4:1] [awaited]   cancel b7 #1 X   extend b7 [#1] X [token=4:1] 5s
//	amend b7 [#1] X [token=4:1] revision=2 [value=V]
//	suspend b7 #1 [as lock]   resume b7 #1   lock and unlock of the whole space, whose name is written "" as well
//	end b7 [why]   list b7   show b X [stale]   break b X [token=4:1]
//	inspect b [here]   scan b [limit=10] [after=X] [prefix=X] [stale]   open b   close b   leave b
//
// A token is written as its reign and its count, 4:1.
//
// [Match] compares and writes golden files of other kinds, such as pictures.
package golden
