package token

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"strings"
)

// Prefix begins every secret.
const Prefix = "hft_"

const (
	randomBytes = 32
	secretBytes = randomBytes + crc32.Size

	// SecretLength is the length of a secret, in characters.
	SecretLength = len(Prefix) + secretBytes*4/3
)

// encoding has no padding, and rejects different texts of the same bytes.
var encoding = base64.RawURLEncoding.Strict()

// Reasons why a text is not a secret. Their texts do not repeat it.
var (
	ErrMalformed = errors.New("the token is not one of Holdfast: a token is hft_ followed by 48 letters, digits, - and _; copy it again as a whole")
	ErrMistyped  = errors.New("the token has a mistake: its checksum does not fit; copy it again as a whole")
)

// Sum is the digest of a secret. It identifies the token, and does not reveal the secret.
type Sum [sha256.Size]byte

// String returns the digest in hexadecimal.
func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// New returns a random secret, and its digest.
func New() (secret string, sum Sum) {
	bytes := make([]byte, randomBytes, secretBytes)
	_, _ = rand.Read(bytes) // it never fails: crypto/rand ends the process instead
	bytes = binary.BigEndian.AppendUint32(bytes, crc32.ChecksumIEEE(bytes))
	secret = Prefix + encoding.EncodeToString(bytes)
	return secret, sha256.Sum256([]byte(secret))
}

// SumOf returns the digest of a secret. The error is ErrMalformed or ErrMistyped.
func SumOf(secret string) (Sum, error) {
	text, ok := strings.CutPrefix(secret, Prefix)
	if !ok || len(secret) != SecretLength {
		return Sum{}, ErrMalformed
	}
	bytes, err := encoding.DecodeString(text)
	if err != nil || len(bytes) != secretBytes {
		return Sum{}, ErrMalformed
	}
	if crc32.ChecksumIEEE(bytes[:randomBytes]) != binary.BigEndian.Uint32(bytes[randomBytes:]) {
		return Sum{}, ErrMistyped
	}
	return sha256.Sum256([]byte(secret)), nil
}

// Looks reports whether a text is meant as a secret of this package, which it need not be.
func Looks(secret string) bool { return strings.HasPrefix(secret, Prefix) }
