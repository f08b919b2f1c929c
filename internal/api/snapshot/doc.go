// Package snapshot is the file that `holdfast snapshot save` writes and `holdfast snapshot restore` reads: a copy of a
// space of protocol consensus, and of which cluster it was.
//
//	holdfast snapshot 1\n
//	header     one: the cluster, the space, its protocol and shards, when it was saved     JSON
//	shard      one for each, in their order: its reign, and how much follows               JSON
//	part       as many as the shard said: its state, as package lock/replica writes it
//	end        one: the SHA-256 of all that stands before it
//
// Each of these is a frame: its kind (1 byte), how long its content is (4 bytes, big endian), the content, and a CRC-32C
// of all that (4 bytes). So what was flipped is found where it stands, before a reader acts on it; and what was cut off,
// left out, doubled or put together of two files is found at the end.
//
// A member writes it while it is asked ([Writer]). It is sent as it is, so that the caller keeps one part at a time
// in memory, and so does its reader ([Reader]). The latter trusts nothing: of a file that was not read to its end
// nothing is known to be right.
//
// The first line says which format it is. What changes the form of anything changes that line; a field may be added to
// the JSON, which readers pass over that do not know it.
package snapshot
