package jwt

import (
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-jose/go-jose/v4"
)

// Bounds of a set of keys, and of an RSA key (RFC 7518, section 3.3).
const (
	mostKeys     = 100
	mostKeyBytes = 1 << 20
	leastRSA     = 2048 // bits
	mostRSA      = 8192
)

// keys are the keys of an issuer at one moment. They are immutable.
type keys []*jose.JSONWebKey

// parseKeys reads a JSON Web Key Set. It leaves out what must not verify a signature: keys of unknown kinds, for
// encryption, symmetric and private ones, which are known to others now, and RSA keys that are too short or too long.
func parseKeys(data []byte) (keys, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(data, &set); err != nil {
		return nil, errors.New("it is not a JSON Web Key Set")
	}
	if len(set.Keys) > mostKeys {
		return nil, fmt.Errorf("it has %d keys; at most %d are allowed", len(set.Keys), mostKeys)
	}
	var usable keys
	for _, raw := range set.Keys {
		if key, err := parseKey(raw); err == nil { // RFC 7517, section 5: what is not understood is ignored
			usable = append(usable, &key)
		}
	}
	if len(usable) == 0 {
		return nil, errors.New("it has no key that verifies signatures")
	}
	return usable, nil
}

var errUseless = errors.New("the key verifies no signature")

// parseKey reads a public key.
func parseKey(raw []byte) (key jose.JSONWebKey, err error) {
	if err := key.UnmarshalJSON(raw); err != nil {
		return key, err
	}
	modulus, is := key.Key.(*rsa.PublicKey)
	switch {
	case !key.Valid() || !key.IsPublic() || key.Use != "" && key.Use != "sig":
		return key, errUseless
	case is && (modulus.N.BitLen() < leastRSA || modulus.N.BitLen() > mostRSA):
		return key, errUseless
	}
	return key, nil
}

// candidates returns the keys that may have signed a token: those with its key's id, or, if it names none (RFC 7515,
// section 4.1.4), all that are for its algorithm.
func (k keys) candidates(u *unverified) (some keys) {
	for _, key := range k {
		if key.KeyID == u.key && u.key != "" || u.key == "" && isFor(key, u) {
			some = append(some, key)
		}
	}
	return some
}

// isFor reports whether a key may be used with the algorithm of a token.
func isFor(key *jose.JSONWebKey, u *unverified) bool {
	return key.Algorithm == "" || key.Algorithm == u.algorithm
}

// verify returns the one of the keys that has signed a token; nil if none has.
func (k keys) verify(u *unverified) *jose.JSONWebKey {
	for _, key := range k {
		if isFor(key, u) && u.token.Claims(key.Key) == nil {
			return key
		}
	}
	return nil
}
