// Package secure is what gRPC connections are made and accepted with: TLS whose
// certificates follow their files, Unix sockets whose other end the system names, plain
// text.
//
//	Client    a client, towards a member: TLS or plain text over TCP, a socket
//	Calling   a member, towards another one
//	Accept    the port of members and clients, and who has connected there: a Peer
//
// An error in a handshake is reported in a sentence that names what to do, on the side
// where it happens and, as far as TLS lets it know, on the other side as well. In TLS 1.3 a
// client has finished its handshake before the server has seen its certificate: what the
// server says of it comes with the first bytes that are read, and is explained there.
//
// Package internal/certificate decides which client or member a certificate stands for,
// internal/socket which user is at the other end of a socket.
package secure
