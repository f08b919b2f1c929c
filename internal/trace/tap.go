package trace

import (
	"math/rand/v2"

	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/internal/member/session"
)

// Tap records the random values that machines draw from a source. Like the machines it is for one goroutine at a time.
type Tap struct {
	source  *rand.Rand
	numbers []uint64
	secrets []session.Secret
	proofs  [][32]byte
}

// NewTap returns a tap on an unpredictable source.
func NewTap(source *rand.Rand) *Tap { return &Tap{source: source} }

// Entropy returns the machines' source of random values.
func (t *Tap) Entropy() member.Entropy {
	return member.Entropy{Rand: rand.New(t), Secret: t.secret, Proof: t.proof}
}

// Uint64 draws a number.
func (t *Tap) Uint64() uint64 {
	n := t.source.Uint64()
	t.numbers = append(t.numbers, n)
	return n
}

// secret draws a secret as a session machine without a tap does. Its numbers are not recorded.
func (t *Tap) secret() session.Secret {
	s := session.DrawSecret(t.source)
	t.secrets = append(t.secrets, s)
	return s
}

// proof returns the hash of a secret. It is recorded like a drawn value: in a replay the secret differs, and other
// members compare the hash with theirs.
func (t *Tap) proof(s session.Secret) [32]byte {
	proof := session.ProofOf(s)
	t.proofs = append(t.proofs, proof)
	return proof
}

// drain clears the recorded values.
func (t *Tap) drain() {
	clear(t.secrets)
	t.numbers, t.secrets, t.proofs = t.numbers[:0], t.secrets[:0], t.proofs[:0]
}
