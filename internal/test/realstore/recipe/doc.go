// Package recipe describes how to find, prepare and start third-party servers: etcd, Redis and PostgreSQL, on the
// loopback, each in its own folder and without systemd. It starts nothing itself. Two packages do, from the same
// recipes:
//
//   - package realstore, for tests, whose servers end with them;
//   - bench/peer, in a module of its own, which measures servers as they ship.
//
// A recipe keeps the server's defaults, except for what every use needs: ports, a folder, and no limit on where it may
// be. A user adds further arguments to the command, as tests do for a server that does not wait for its disk.
package recipe
