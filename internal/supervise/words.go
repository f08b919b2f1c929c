//go:build unix

package supervise

import (
	"encoding/binary"
	"errors"
	"io"
)

// What a caller sends to its guardian and starter is lists of words. A message is its length in bytes, eight bytes
// little endian, and the lists. Each list has its number of words before it, and each word its number of bytes.

// messageHead is how many bytes of a message say its length.
const messageHead = 8

var errNoMessage = errors.New("not a message of this program")

func encodeLists(lists ...[]string) []byte {
	message := make([]byte, messageHead)
	for _, list := range lists {
		message = binary.AppendUvarint(message, uint64(len(list)))
		for _, word := range list {
			message = append(binary.AppendUvarint(message, uint64(len(word))), word...)
		}
	}
	binary.LittleEndian.PutUint64(message, uint64(len(message)-messageHead))
	return message
}

// readLists reads a message with that many lists.
func readLists(from io.Reader, count int) ([][]string, error) {
	head := make([]byte, messageHead)
	if _, err := io.ReadFull(from, head); err != nil {
		return nil, err
	}
	return readBody(from, head, count)
}

// readBody reads the rest of a message.
func readBody(from io.Reader, head []byte, count int) ([][]string, error) {
	body, err := io.ReadAll(io.LimitReader(from, int64(binary.LittleEndian.Uint64(head))))
	if err != nil {
		return nil, err
	}
	lists := make([][]string, count)
	for i := range lists {
		var words uint64
		if words, body, err = cutNumber(body); err != nil {
			return nil, err
		}
		for ; words > 0; words-- {
			var length uint64
			if length, body, err = cutNumber(body); err != nil {
				return nil, err
			}
			if length > uint64(len(body)) {
				return nil, errNoMessage
			}
			lists[i], body = append(lists[i], string(body[:length])), body[length:]
		}
	}
	if len(body) > 0 {
		return nil, errNoMessage
	}
	return lists, nil
}

func cutNumber(body []byte) (number uint64, rest []byte, err error) {
	number, length := binary.Uvarint(body)
	if length <= 0 {
		return 0, nil, errNoMessage
	}
	return number, body[length:], nil
}
