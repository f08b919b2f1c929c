// Package follow notices that a file has changed, and reads it again.
//
//	stamp.go  what tells a changed file from the same one, without reading it
//	read.go   a bounded reading
//	file.go   a file whose parsed contents are followed
//
// A [Stamp] has the size, the mode, the time of change and the identity (device and inode) of a file. A file system
// notes times in ticks, of some milliseconds or of two seconds (FAT): two changes within a tick may leave the same
// stamp. So a file that was changed less than two seconds before it was read is young: its stamp fits no later one, and
// it is read again at the next look, and parsed if it has other contents. A look at an old file costs one call of the
// system.
//
// A [File] looks at most once a second, when its value is asked for. While the file has a fault, the previous value
// stays in use.
package follow
