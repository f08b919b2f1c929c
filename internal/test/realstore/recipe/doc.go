// Package recipe knows how the servers of others are found, prepared and started: etcd,
// Redis and PostgreSQL, on the loopback, each with a folder of its own and without systemd.
// It starts nothing itself. Two do, from the same recipes:
//
//   - package realstore, for tests, which end their servers with themselves;
//   - bench/peer, in a module of its own, which measures servers as they ship.
//
// A recipe is as the server ships, but for what every use must have: ports, a folder, and no
// limit on where it may be. What a use wants besides, as a test wants a server that does not
// wait for its disk, it adds to the words of the command.
package recipe
