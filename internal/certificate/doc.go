// Package certificate decides by TLS which member or client a peer is: which authority
// vouches for which of them, which name a certificate carries, and when the files are
// read again.
//
//	material.go  what the files hold: a certificate with its key, two pools of authorities
//	store.go     the newest material, read again when the files change
//	config.go    the configuration of crypto/tls, on each side of each port
//	name.go      the names that a certificate carries
//	verify.go    who a certificate is good for: a member, or a client
//	explain.go   why a handshake did not succeed, and what to do, in a sentence
//
// # What each authority vouches for
//
// Members know each other by one authority (Members), clients are known by another or by
// the same one (Clients). Members and clients share a port, so a handshake there accepts
// what either has signed, and the port asks [Store.Member] or [Store.Client] before it
// serves a call. What they say:
//
//   - A member shows a certificate that Members has signed, that carries the name that
//     the member says it has, and that is good for a server. Nothing else makes a member,
//     even where clients need not show a certificate: with two authorities no client's
//     certificate ever does, and with one a client's is recognized by its extended key usage,
//     which has clientAuth and not serverAuth. A certificate without any extended key usage
//     is good for both, as RFC 5280 (4.2.1.12) has it.
//   - A client shows a certificate that Clients has signed. With two authorities a
//     member's is not one.
//
// Without Members there are no other members: all holders of a certificate of a public
// authority would be too many.
//
// # Names
//
// A certificate carries a member's name if it has it as a DNS name, as its common name, or
// as the URI urn:holdfast:member:NAME (percent-encoded), each compared exactly: upper and
// lower case are two names, and a wildcard carries no name. A name that is an IP address
// and a port, as members have it that were not given one (127.0.0.1-4040, 127.0.0.1:4040),
// is carried by a certificate for that IP address, too.
//
// A client's name is the common name of its certificate; if that is empty, the first of
// its DNS names, e-mail addresses, URIs and IP addresses.
//
// # Reload
//
// A handshake looks whether a file has changed, at most once a second, and goes on with
// what they hold now. New material that fails to load (a file that cannot be read, a key that is not
// the certificate's, a missing name, an expired certificate) is logged once,
// and the previous one stays in use. Open connections live on.
//
// Sessions of TLS are not resumed: a client that comes back shows its certificate again,
// to the authorities of that moment.
package certificate
