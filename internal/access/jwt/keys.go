package jwt

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-jose/go-jose/v4"
)

// Bounds of a set of keys.
const (
	mostKeys     = 100
	mostKeyBytes = 1 << 20
)

// keys are the keys of an issuer at one moment. They are immutable.
type keys []jose.JSONWebKey

// parseKeys reads a JSON Web Key Set. It leaves out what cannot verify a signature: keys of unknown kinds, for
// encryption, and symmetric ones.
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
		var key jose.JSONWebKey
		if err := key.UnmarshalJSON(raw); err != nil || !key.Valid() {
			continue // RFC 7517, section 5: what is not understood is ignored
		}
		if _, symmetric := key.Key.([]byte); symmetric || key.Use != "" && key.Use != "sig" {
			continue
		}
		usable = append(usable, key.Public())
	}
	if len(usable) == 0 {
		return nil, errors.New("it has no key that verifies signatures")
	}
	return usable, nil
}

// candidates returns the keys that may have signed a token: those with its key's id, or all if it names none.
func (k keys) candidates(u *unverified) (some keys) {
	for _, key := range k {
		if u.key == "" || key.KeyID == u.key {
			some = append(some, key)
		}
	}
	return some
}

// verify reports whether one of the keys has signed a token.
func (k keys) verify(u *unverified) bool {
	for i := range k {
		if k[i].Algorithm != "" && k[i].Algorithm != u.algorithm {
			continue
		}
		if u.token.Claims(k[i].Key) == nil {
			return true
		}
	}
	return false
}
