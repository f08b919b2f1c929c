// Package audit keeps the audit log of a member: who has asked for what, and how it ended.
//
// An [Entry] is one line of JSON. The log goes to a file, to the standard error stream, to syslog, or nowhere; in each
// case the latest entries are kept in memory, and a [Feed] gets all entries from a moment on.
//
// # A file
//
// Each line is written by one call of the system, at the end of the file. The file is synced at most once a second. At
// its largest size it is renamed to FILE.1, FILE.1 to FILE.2 and so on, and a new one begins; the oldest is deleted.
// [Log.Reopen] opens the path anew, for programs that rotate files themselves. Entries of single locks, of which there
// may be many thousands a second, are collected for up to a second; all others are written before Add returns.
//
// # Failures
//
// A log that cannot be written says so ([Log.Ready]), and the server refuses operators' calls then. Each call of Ready
// tries again. The first line after a failure has the number of entries that are missing from the log.
package audit
