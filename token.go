package holdfast

import (
	"fmt"
	"strconv"
	"strings"
)

// Token is a fencing token: strictly larger at every new grant of a name, forever, across changes of authority and
// restarts. Reentry returns the token of the existing grant. It always fits in a positive int64. Zero is never issued.
//
// In JSON it is a decimal string, because JavaScript and jq round large numbers.
type Token uint64

// String returns the token in decimal.
func (t Token) String() string { return strconv.FormatUint(uint64(t), 10) }

// MarshalText encodes the token in decimal, so that JSON shows a string.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText decodes the output of MarshalText.
func (t *Token) UnmarshalText(text []byte) error {
	parsed, err := ParseToken(string(text))
	if err != nil {
		return err
	}
	*t = parsed
	return nil
}

// ParseToken parses a token in decimal.
func ParseToken(s string) (Token, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n == 0 || n > 1<<63-1 {
		return 0, fmt.Errorf("token %q: want a decimal number from 1 to %d", strings.Clone(s), int64(1<<63-1))
	}
	return Token(n), nil
}
