package codec

import (
	"encoding/binary"

	"fmt"
	"math"
	"sync"

	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/lock/wire"
	"github.com/holdfast-locks/holdfast/protocol"
)

// messages has all messages that members send to one another.
var messages = sync.OnceValue(func() *wire.Table { return member.Messages(member.Protocols()) })

// Append appends a message for the machine at port to b. The error says what of the
// message cannot be sent; then b comes back as it was.
func Append(b []byte, port protocol.Port, m protocol.Message) ([]byte, error) {
	grown, err := messages().Append(binary.AppendUvarint(b, uint64(port)), m)
	if err != nil {
		return b, err
	}
	return grown, nil
}

// Decode takes the first message off b, with the port that it is for, and returns
// what is left. The error says what is wrong with the bytes.
func Decode(b []byte) (port protocol.Port, m protocol.Message, rest []byte, err error) {
	n, size := binary.Uvarint(b)
	switch {
	case size == 0:
		return 0, nil, nil, fmt.Errorf("decode the port of a message: %w", wire.ErrTruncated)
	case size < 0 || n > math.MaxUint16:
		return 0, nil, nil, fmt.Errorf("decode the port of a message: %w", wire.ErrRange)
	}
	taken, rest, err := messages().Take(b[size:])
	if err != nil {
		return 0, nil, nil, err
	}
	return protocol.Port(n), taken.(protocol.Message), rest, nil
}
