package session

import (
	"crypto/sha256"
	"math/rand/v2"
)

// drawSecret draws the secret of a session. It reads the function from the configuration each time and keeps no copy:
// package sim/explore/snapshot copies session machines.
func (m *Machine) drawSecret() Secret {
	if m.config.Secret != nil {
		return m.config.Secret()
	}
	return DrawSecret(m.config.Rand)
}

// prove returns the hash of a secret.
func (m *Machine) prove(s Secret) [32]byte {
	if m.config.Proof != nil {
		return m.config.Proof(s)
	}
	return ProofOf(s)
}

// ProofOf is the SHA-256 of a secret: it does not reveal the secret.
func ProofOf(s Secret) [32]byte { return sha256.Sum256(s[:]) }

// DrawSecret draws a secret from an unpredictable source.
func DrawSecret(from *rand.Rand) (s Secret) {
	for i := range s {
		s[i] = byte(from.Uint32())
	}
	return s
}
