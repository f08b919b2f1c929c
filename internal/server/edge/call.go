package edge

// Call is a client's request by an operation.
//
// The number of a call, protocol.CallID.Op, tells what its answer is about, so that
// nothing has to be remembered for an answer that may never come:
//
//   - An acquire has the id of its request, and so has every later word about it.
//   - A release, cancel or extend has the top bit, its kind, and a count. The answer
//     is a decision, which names the request.
//   - A beat or end has the top bit and its own id. Its answer is no decision.
type Call uint8

// The kinds of calls.
const (
	CallRequest Call = iota // what becomes of a request
	CallHello
	CallRelease
	CallCancel
	CallExtend
	CallBeat
	CallEnd
	CallUnknown
)

// String returns the word for it in metrics.
func (c Call) String() string {
	return [...]string{"acquire", "open", "release", "cancel", "extend", "renew", "end", "unknown"}[c]
}

// endsHold says whether the answer is a released, with a problem where it is refused.
func (c Call) endsHold() bool { return c == CallRelease || c == CallCancel || c == CallEnd }

const (
	callBit   = 1 << 63
	kindShift = 60
	countMask = 1<<kindShift - 1
	// MaxID is the largest id of an operation: the next one's number is the hello's.
	MaxID = callBit - 2
	// HelloCall is the number of what a hello asks for.
	HelloCall = uint64(callBit | (MaxID + 1))
)

// NumberOf returns the number of a release, cancel or extend, the count-th of them.
func NumberOf(kind Call, count uint64) uint64 {
	return callBit | uint64(kind)<<kindShift | count&countMask
}

// CallOf returns what a decision is the answer to, by the number of the call.
func CallOf(number uint64) Call {
	if number&callBit == 0 {
		return CallRequest
	}
	return Call(number >> kindShift & 7)
}
