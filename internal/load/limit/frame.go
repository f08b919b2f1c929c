package limit

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Bounds of the protocol.
const (
	MaxName     = 512     // bytes of a name
	MaxRequests = 1 << 20 // ids of one connection
)

type operation byte

const (
	acquire operation = iota + 1
	announce
	release

	granted
	queued
	released
)

const (
	lengthBytes = 2
	headBytes   = 1 + 4 // operation, id
	answerBytes = headBytes
)

// errProtocol ends a connection that breaks the protocol.
var errProtocol = errors.New("the protocol was broken")

// appendRequest appends a request to a buffer.
func appendRequest(to []byte, op operation, id uint32, name string) []byte {
	to = binary.BigEndian.AppendUint16(to, uint16(headBytes+len(name)))
	to = append(to, byte(op))
	to = binary.BigEndian.AppendUint32(to, id)
	return append(to, name...)
}

// appendAnswer appends an answer to a buffer.
func appendAnswer(to []byte, op operation, id uint32) []byte {
	return binary.BigEndian.AppendUint32(append(to, byte(op)), id)
}

// request is a decoded request. Its name is part of the buffer that it was read from.
type request struct {
	op   operation
	id   uint32
	name []byte
}

// cutRequest decodes the first request of the input. It consumes nothing of an incomplete one, and reports false.
func cutRequest(read []byte) (r request, rest []byte, whole bool, err error) {
	if len(read) < lengthBytes {
		return r, read, false, nil
	}
	length := int(binary.BigEndian.Uint16(read))
	if length < headBytes || length > headBytes+MaxName {
		return r, read, false, fmt.Errorf("%w: a request of %d bytes", errProtocol, length)
	}
	if len(read) < lengthBytes+length {
		return r, read, false, nil
	}
	body := read[lengthBytes : lengthBytes+length]
	r = request{operation(body[0]), binary.BigEndian.Uint32(body[1:]), body[headBytes:]}
	switch {
	case r.op != acquire && r.op != announce && r.op != release:
		err = fmt.Errorf("%w: operation %d", errProtocol, r.op)
	case r.id >= MaxRequests:
		err = fmt.Errorf("%w: id %d", errProtocol, r.id)
	case (r.op == release) != (len(r.name) == 0):
		err = fmt.Errorf("%w: operation %d with a name of %d bytes", errProtocol, r.op, len(r.name))
	}
	return r, read[lengthBytes+length:], err == nil, err
}
