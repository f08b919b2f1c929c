// Package recipe knows how to find, prepare and start third-party servers: etcd, Redis and PostgreSQL, on the loopback,
// each with a separate folder and without systemd. It starts nothing itself. Two users share the recipes:
//
//   - package realstore, for tests, whose servers end with them;
//   - bench/peer, in a separate module, which measures servers with their default settings.
//
// A recipe uses the server's default settings, except those that every use needs: ports, a folder, and no limit on its
// location. Further settings, such as not waiting for the disk in tests, are appended to the command.
package recipe
