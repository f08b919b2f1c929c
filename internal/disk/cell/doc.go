// Package cell stores a member's stable cell in a folder: one small file, replaced atomically and synced, and a lock on
// the folder, so that no two processes run the same member.
//
// A write goes to a temporary file that is synced, then renamed over the cell, then the folder is synced: after a crash
// at any moment the cell has its old bytes or its new ones. The folder's lock is the kernel's (flock): it ends with the
// process in any case.
package cell
