// Package socket listens on Unix domain sockets, and identifies the user and process of each connection.
//
// # Permissions
//
// The mode of the socket's file decides, as for any file: a process that may write it may connect. The folder's mode
// counts, too. The file has its mode from the start: it is created under another name, and renamed.
//
// # Existing sockets
//
// A socket without a listener is left over from a process that was killed, and is replaced; one with a listener is
// never touched, and neither is a file that is not a socket. The file PATH.lock keeps two processes from replacing one
// at the same time: the listening process holds a lock on it, which the system releases when that process ends in any
// way. The file stays.
//
// # Peers
//
// The system reports the user and process that have connected ([Peer]); neither can be forged. Linux has SO_PEERCRED
// for this, the BSDs and macOS LOCAL_PEERCRED. On a system without either, listening fails.
package socket
