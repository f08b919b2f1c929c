package holdfast

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// MaxName is the maximum length of a lock's name, in bytes.
const MaxName = 512

// MaxText is the maximum length of a reason or an owner, in bytes.
const MaxText = 1024

// MaxValue is the maximum length of a grant's value, in bytes.
const MaxValue = 4096

// CheckName returns an ErrName unless name is valid: 1 to [MaxName] bytes of UTF-8 without control characters, format
// characters (Unicode category Cf: invisible ones, and those that turn the direction of text) and line or paragraph
// separators. An emoji that is joined from several with U+200D has a format character, too.
func CheckName(name string) error {
	if len(name) == 0 {
		return fmt.Errorf("%w: it is empty; give 1 to %d bytes", ErrName, MaxName)
	}
	if len(name) > MaxName {
		return fmt.Errorf("%w: it has %d bytes; %d are allowed", ErrName, len(name), MaxName)
	}
	return checkText(name)
}

// CheckText returns an ErrName unless the text of a request's field (an owner, a reason) is valid: at most [MaxText]
// bytes of UTF-8 without the characters that [CheckName] refuses.
func CheckText(field, text string) error {
	if text == "" {
		return nil
	}
	if len(text) > MaxText {
		return fmt.Errorf("%w: %s has %d bytes; %d are allowed", ErrName, field, len(text), MaxText)
	}
	if err := checkText(text); err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	return nil
}

// CheckValue returns an ErrName unless the value of a grant is valid: at most [MaxValue] bytes of UTF-8. It may have
// several lines, and any character except U+0000.
func CheckValue(value string) error {
	if len(value) > MaxValue {
		return fmt.Errorf("%w: value has %d bytes; %d are allowed", ErrName, len(value), MaxValue)
	}
	if isPlain(value) {
		return nil
	}
	for at, r := range value {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(value[at:]); size == 1 {
				return fmt.Errorf("%w: value: byte %d is not UTF-8", ErrName, at)
			}
		}
		if r == 0 {
			return fmt.Errorf("%w: value: control character %U at byte %d", ErrName, r, at)
		}
	}
	return nil
}

func checkText(text string) error {
	if isPlain(text) {
		return nil
	}
	for at, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[at:]); size == 1 {
				return fmt.Errorf("%w: byte %d is not UTF-8", ErrName, at)
			}
		}
		if unicode.IsControl(r) {
			return fmt.Errorf("%w: control character %U at byte %d", ErrName, r, at)
		}
		if unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return fmt.Errorf("%w: invisible format character %U at byte %d; leave it out", ErrName, r, at)
		}
	}
	return nil
}

// isPlain reports whether text is printable ASCII, as nearly all names are. It tests eight bytes at a time: a byte
// below ' ' borrows into its highest bit, and a byte above '~' carries into it.
func isPlain(text string) bool {
	const each = 0x01_01_01_01_01_01_01_01
	for len(text) >= 8 {
		x := uint64(text[0]) | uint64(text[1])<<8 | uint64(text[2])<<16 | uint64(text[3])<<24 |
			uint64(text[4])<<32 | uint64(text[5])<<40 | uint64(text[6])<<48 | uint64(text[7])<<56
		if (x|(x-' '*each)|(x+each))&(0x80*each) != 0 {
			return false
		}
		text = text[8:]
	}
	for i := range len(text) {
		if text[i]-' ' >= 0x7f-' ' {
			return false
		}
	}
	return true
}

// CheckSpace returns an error unless space is a valid lockspace name: 1 to 64 of the characters a-z A-Z 0-9 - _ and
// dot, so that it fits in a URL, a flag and a metric label.
func CheckSpace(space string) error {
	if len(space) == 0 || len(space) > 64 {
		return fmt.Errorf("%w: space %q has %d characters; 1 to 64 are allowed", ErrName, space, len(space))
	}
	for _, r := range space {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_', r == '.':
		default:
			return fmt.Errorf("%w: space %q contains %q; letters, digits, '-', '_' and '.' are allowed", ErrName, space, r)
		}
	}
	return nil
}
