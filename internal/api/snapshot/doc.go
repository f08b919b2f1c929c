// Package snapshot is the file format of `holdfast snapshot save` and `holdfast snapshot restore`: a copy of a space of
// protocol consensus, with the cluster it came from.
//
//	holdfast snapshot 1\n
//	header     one: the cluster, the space, its protocol and shards, when it was saved     JSON
//	shard      one for each, in their order: its reign, and the size of what follows               JSON
//	part       as many as the shard said: its state, as package lock/replica writes it
//	end        one: the SHA-256 of everything before it
//
// Each of these is a frame: its kind (1 byte), the length of its content (4 bytes, big endian), the content, and a
// CRC-32C of all that (4 bytes). So a flipped bit is found in its frame, before a reader acts on it; truncated,
// missing, repeated or mixed frames are found at the end.
//
// A member writes it while it answers the call ([Writer]). It is streamed, so the caller keeps one part at a time in
// memory, and so does the [Reader]. The reader trusts nothing: no part of a file is verified until the file has been
// read to its end.
//
// The first line names the format. Any change of the format changes that line; fields may be added to the JSON, and
// readers that do not know them skip them.
package snapshot
