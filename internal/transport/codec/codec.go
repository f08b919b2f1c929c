package codec

import (
	"fmt"
	"sync"

	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/lock/wire"
	"github.com/holdfast-locks/holdfast/protocol"
)

// messages has all messages between members.
var messages = sync.OnceValue(func() *wire.Table { return member.Messages(member.Protocols()) })

// Append appends a message for the machine at port to b. The error says why the message cannot be sent; b is then
// returned unchanged.
func Append(b []byte, port protocol.Port, m protocol.Message) ([]byte, error) {
	c := wire.To(b)
	wire.Number(&c, &port)
	grown, err := messages().Append(c.Bytes(), m)
	if err != nil {
		return b, err
	}
	return grown, nil
}

// Decode decodes the first message of b, with its port, and returns the rest. The error says what is wrong with the
// bytes.
func Decode(b []byte) (port protocol.Port, m protocol.Message, rest []byte, err error) {
	c := wire.From(b)
	if wire.Number(&c, &port); c.Err() != nil {
		return 0, nil, nil, fmt.Errorf("decode the port of a message: %w", c.Err())
	}
	taken, rest, err := messages().Take(c.Bytes())
	if err != nil {
		return 0, nil, nil, err
	}
	return port, taken.(protocol.Message), rest, nil
}
