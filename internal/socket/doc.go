// Package socket listens on Unix domain sockets, and says which user and process has
// connected.
//
// # Who may connect
//
// The mode of the socket's file says so, as for any file: a process that may write it
// may connect. The folder counts, too. The file has its mode from the moment that it is
// there: it is made under another name, and moved.
//
// # A socket that is there already
//
// A socket without a listener is left over from a process that was killed, and is
// replaced; one with a listener is never touched, and neither is a file that is no socket.
// The file PATH.lock keeps two processes from replacing one at the same time: the process
// that listens has it locked, and the system unlocks it when that process ends, however it
// does. It stays there.
//
// # Who has connected
//
// The system tells which user and which process has connected ([Peer]); neither can be
// made up. Linux has SO_PEERCRED for it, the BSDs and macOS LOCAL_PEERCRED. A system
// without either is refused when it is to listen.
package socket
