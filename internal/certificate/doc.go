// Package certificate authenticates members and clients by TLS: which authority vouches for which, which name a
// certificate carries, and when the files are reloaded.
//
//	material.go  what the files hold: a certificate with its key, two pools of authorities
//	store.go     the newest material, read again when the files change
//	config.go    the configuration of crypto/tls, on each side of each port
//	name.go      the names that a certificate carries
//	subject.go   the subject of a client's certificate for access control
//	verify.go    who a certificate is good for: a member, or a client
//	explain.go   why a handshake did not succeed, and what to do, in a sentence
//
// # What each authority vouches for
//
// One authority (Members) vouches for members; another, or the same one, vouches for clients (Clients). Members and
// clients share a port, so a handshake there accepts certificates of either, and the port checks [Store.Member] or
// [Store.Client] before it serves a call. Their rules:
//
//   - A member shows a certificate that Members has signed, that carries the member's claimed name, and whose extended
//     key usage lists serverAuth and clientAuth. One without any extended key usage, which is valid for everything (RFC
//     5280, 4.2.1.12), is refused. If Options.Names is not empty, it matches the name. Nothing else identifies a
//     member, even if clients need not show a certificate: with two authorities no client's certificate does; with one,
//     a client's is recognized by its extended key usage, which has clientAuth and not serverAuth. With one authority
//     and no Names, [Store.Warnings] says what that risks.
//   - A client shows a certificate that Clients has signed. With two authorities a member's certificate does not count.
//
// Without Members there can be no other members: otherwise any holder of a certificate from a public authority would
// qualify.
//
// # Names
//
// A certificate carries a member's name if it has it as a DNS name, as its common name, or as the URI
// urn:holdfast:member:NAME (percent-encoded), each compared exactly: upper and lower case are two names, and a wildcard
// carries no name. A certificate for an IP address also carries a name made of that address and a port, as members
// without a configured name have (127.0.0.1-4040, 127.0.0.1:4040).
//
// A client's name is the common name of its certificate; if that is empty, the first of its DNS names, e-mail
// addresses, URIs and IP addresses. A name with control or invisible format characters is refused. For access control
// its [Subject] counts, which is the SPIFFE id of a certificate that has one.
//
// # Reload
//
// A handshake checks at most once a second whether a file has changed, and uses the current contents. New material that
// fails to load (a file that cannot be read, a key that is not the certificate's, a missing name, an expired
// certificate) is logged once, and the previous one stays in use. Open connections stay.
//
// TLS sessions are not resumed: a returning client shows its certificate again, and the current authorities apply.
package certificate
