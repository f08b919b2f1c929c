// Package turns limits how many tasks run at a time; the others wait in the order of their requests. If thousands begin
// at once and all run at the same time, nearly all finish late, and callers give up before. In turn, the first finish
// soon.
//
// A member limits handshakes this way, and a client process the connections that it makes.
package turns
