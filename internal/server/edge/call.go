package edge

// Call is the kind of a client's request by an operation.
//
// The number of a call, protocol.CallID.Op, identifies the subject of its answer, so that no state is needed for an
// answer that may never come:
//
//   - An acquire has the id of its request, and so has every later message about it.
//   - A release, cancel, extend or amend has the top bit, its kind, and a count. The answer is a decision, which names the
//     request.
//   - A beat or end has the top bit and its own id. Its answer is not a decision.
type Call uint8

// The kinds of calls.
const (
	CallRequest Call = iota // the course of a request
	CallHello
	CallRelease
	CallCancel
	CallExtend
	CallAmend
	CallBeat
	CallEnd
	CallUnknown
)

// String returns the kind's name in metrics.
func (c Call) String() string {
	return [...]string{"acquire", "open", "release", "cancel", "extend", "amend", "renew", "end", "unknown"}[c]
}

// refusal returns the kind of the event that refuses the call. A release, cancel, end or amend is answered by an event of
// its own, with a problem, so that no client mistakes it for a message about the request itself.
func (c Call) refusal() saying {
	switch c {
	case CallRelease, CallCancel, CallEnd:
		return sayReleased
	case CallAmend:
		return sayAmended
	}
	return sayRefused
}

const (
	callBit   = 1 << 63
	kindShift = 60
	countMask = 1<<kindShift - 1
	// MaxID is the maximum id of an operation: the next number is the hello's.
	MaxID = callBit - 2
	// HelloCall is the number of the calls of a hello.
	HelloCall = uint64(callBit | (MaxID + 1))
)

// NumberOf returns the number of the count-th release, cancel, extend or amend.
func NumberOf(kind Call, count uint64) uint64 {
	return callBit | uint64(kind)<<kindShift | count&countMask
}

// CallOf returns the kind of call that a decision answers, by the number of the call.
func CallOf(number uint64) Call {
	if number&callBit == 0 {
		return CallRequest
	}
	return Call(number >> kindShift & 7)
}
