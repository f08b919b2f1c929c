// Package oidc tests the verification of JWTs against a real OpenID Connect provider, the example server of
// github.com/zitadel/oidc, which the tests start on loopback.
//
// It has a module of its own, so that what the provider needs chooses no version for the product.
package oidc
