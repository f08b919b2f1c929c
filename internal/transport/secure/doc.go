// Package secure provides credentials for gRPC connections: TLS with certificates reloaded from files, Unix sockets
// with peer credentials, and plain text.
//
//	Client    a client, towards a member: TLS or plain text over TCP, a socket
//	Calling   a member, towards another one
//	Accept    the port of members and clients, with the identity of each connection: a Peer
//
// A handshake error is reported in a sentence that names the fix, on the side where it happens and, as far as TLS
// transmits it, on the other side as well. In TLS 1.3 a client finishes its handshake before the server has seen its
// certificate: the server's verdict arrives with the first bytes read, and is explained there.
//
// Package internal/certificate determines the client or member of a certificate, internal/socket the user at the other
// end of a socket.
package secure
