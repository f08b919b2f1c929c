// Package storage is what a member's storage is, as messages: a machine sends a
// [Save] to protocol.Storage and receives a [Saved], so that the simulator delays,
// loses and fails disks with the code that loses packets.
//
// A Saved without an error means that the bytes survive a crash of the process and
// of the machine: they were synced before the answer. After an error the old bytes
// may be there, or the new ones, never a mixture.
//
// A key-column-value store and a durable log get their messages here when the
// first protocol that needs one is built.
package storage
