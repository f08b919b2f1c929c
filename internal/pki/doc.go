// Package pki makes certificate authorities, and certificates of members and clients, for a try-out of TLS: what
// `holdfast tls init` writes. It has no revocation, no renewal and no key in hardware; a real installation takes its
// certificates from the authority that it has.
//
// A folder has two authorities, so that no client can pass for a member: members.pem signs members, for serverAuth and
// clientAuth, and clients.pem signs clients, for clientAuth. Each file NAME.pem has its private key in NAME-key.pem, with
// mode 0600. Keys are ECDSA P-256. No file is ever overwritten: a second call adds to what is there.
package pki
