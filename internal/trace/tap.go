package trace

import (
	"math/rand/v2"

	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/internal/member/session"
)

// Tap stands between machines and the source of their chance, and notes what they draw.
// Like the machines it is used by one at a time.
type Tap struct {
	source  *rand.Rand
	numbers []uint64
	secrets []session.Secret
	proofs  [][32]byte
}

// NewTap returns a tap on a source that cannot be guessed.
func NewTap(source *rand.Rand) *Tap { return &Tap{source: source} }

// Entropy returns what the machines draw from.
func (t *Tap) Entropy() member.Entropy {
	return member.Entropy{Rand: rand.New(t), Secret: t.secret, Proof: t.proof}
}

// Uint64 draws a number.
func (t *Tap) Uint64() uint64 {
	n := t.source.Uint64()
	t.numbers = append(t.numbers, n)
	return n
}

// secret draws a secret as a session machine without a tap does. Its numbers are not noted.
func (t *Tap) secret() session.Secret {
	s := session.DrawSecret(t.source)
	t.secrets = append(t.secrets, s)
	return s
}

// proof gives the hash of a secret. It is noted as what was drawn is: the secret will be another one where the trace is
// replayed, and other members compare the hash with what they have.
func (t *Tap) proof(s session.Secret) [32]byte {
	proof := session.ProofOf(s)
	t.proofs = append(t.proofs, proof)
	return proof
}

// drain forgets what was drawn.
func (t *Tap) drain() {
	clear(t.secrets)
	t.numbers, t.secrets, t.proofs = t.numbers[:0], t.secrets[:0], t.proofs[:0]
}
