// Package jwt verifies JSON Web Tokens of OpenID Connect providers, and of what signs likewise: the service accounts of
// Kubernetes.
//
//	jwt.go     issuers, and the verification of a token
//	parse.go   a token as claims that nothing has verified yet
//	claims.go  what verified claims must fulfil
//	keys.go    the keys of an issuer, from JSON
//	file.go    keys from a file, followed when it changes
//	remote.go  keys from a URL, or from the discovery of OpenID Connect
//	recent.go  tokens that were verified a short time ago
//	error.go   refusals as sentences, and their kinds
//
// # What is accepted
//
// A token is at most 16 KiB long, has one signature in compact form, and is signed with an asymmetric algorithm (RS,
// PS, ES, EdDSA) by a key that its issuer publishes now. Its iss is exactly the URL of an issuer, its aud contains the
// audience of that issuer, its exp has not passed, and its nbf and iat are not in the future; clocks may differ by a
// minute. Its sub is not empty. sub and groups have no control or format characters.
//
// # Keys
//
// The keys of an issuer are fetched when the first token needs them, again when a token names a key that is not among
// them, and in the background when they are older than five minutes. For each issuer at most one fetch every ten
// seconds begins, however many tokens name unknown keys, and it ends within five seconds. While an issuer cannot be
// reached, the known keys stay in use. A file of keys is read at the start, and again within a second after a change; a
// file with an error leaves the previous keys in use.
//
// A key that an issuer has withdrawn stays in use until the next fetch succeeds. A token without the id of a key (kid,
// which RFC 7515 leaves optional) is tried with all known keys for its algorithm, and, if none has signed it, with those
// of a fetch, within the same bound.
package jwt
