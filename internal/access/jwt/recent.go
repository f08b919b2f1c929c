package jwt

import (
	"crypto/sha256"
	"slices"
	"sync"

	"github.com/go-jose/go-jose/v4"
	jose_jwt "github.com/go-jose/go-jose/v4/jwt"
)

// mostRecent bounds the remembered tokens.
const mostRecent = 1024

// verified is a token whose signature and claims are valid, but for its times.
type verified struct {
	token      *unverified
	key        *jose.JSONWebKey // of one reading of the issuer's keys; another reading has another
	registered *jose_jwt.Claims
	claims     Claims
}

// result returns the claims, for a caller that may change them.
func (v *verified) result() Claims {
	claims := v.claims
	claims.Groups = slices.Clone(claims.Groups)
	return claims
}

// recent remembers verified tokens by their digests. Its zero value is empty.
type recent struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]*verified
}

// find returns a token; nil if it is not known.
func (r *recent) find(digest [sha256.Size]byte) *verified {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[digest]
}

// add remembers a token. When there are too many, all others are forgotten.
func (r *recent) add(digest [sha256.Size]byte, token *verified) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil || len(r.all) >= mostRecent {
		r.all = map[[sha256.Size]byte]*verified{}
	}
	r.all[digest] = token
}
