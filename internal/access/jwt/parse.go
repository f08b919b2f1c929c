package jwt

import (
	"errors"
	"strings"

	"github.com/go-jose/go-jose/v4"
	jose_jwt "github.com/go-jose/go-jose/v4/jwt"
)

// mostRaw bounds a token, in bytes.
const mostRaw = 16 << 10

// algorithms returns the asymmetric ones. With a symmetric one, the published key would be the secret.
func algorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{
		jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
		jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
	}
}

// Looks reports whether a text is meant as a JWT: three parts with dots between them, the first of which begins like a
// JSON object in base64.
func Looks(raw string) bool { return strings.HasPrefix(raw, "ey") && strings.Count(raw, ".") == 2 }

// unverified is a token whose signature is still to be verified.
type unverified struct {
	token     *jose_jwt.JSONWebToken
	algorithm string
	key       string // the id of its key; it may be empty
	issuer    string
}

// parse reads a token of bounded length. The error is an *Error.
func parse(raw string) (*unverified, error) {
	token, err := jose_jwt.ParseSigned(raw, algorithms())
	var other *jose.ErrUnexpectedSignatureAlgorithm
	switch {
	case errors.As(err, &other):
		return nil, refuse(KindAlgorithm, "", "its algorithm is %.20q; the issuer must sign with one of %s", other.Got, named(algorithms()))
	case err != nil:
		return nil, refuse(KindMalformed, "", "it is not a signed JWT of three parts in base64")
	}
	u := &unverified{token: token, algorithm: token.Headers[0].Algorithm, key: token.Headers[0].KeyID}
	var claims struct {
		Issuer string `json:"iss"`
	}
	if err := token.UnsafeClaimsWithoutVerification(&claims); err != nil {
		return nil, refuse(KindMalformed, "", "its claims are not a JSON object with an issuer (iss)")
	}
	if u.issuer = claims.Issuer; u.issuer == "" {
		return nil, refuse(KindIssuer, "", "it has no issuer (iss)")
	}
	return u, nil
}

// named lists algorithms.
func named(all []jose.SignatureAlgorithm) string {
	var names []string
	for _, one := range all {
		names = append(names, string(one))
	}
	return strings.Join(names, ", ")
}
