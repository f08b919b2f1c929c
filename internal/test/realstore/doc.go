// Package realstore starts real servers for tests: PostgreSQL, Redis, etcd and Cassandra, each
// on a free port of 127.0.0.1, in a folder of its own.
//
//	url := realstore.Redis(t)                   just a server; the test needs its URL
//	server := realstore.StartRedis(t)           a server to hurt: Kill, Restart, Pause, Resume
//	proxy := realstore.NewProxy(t, server.Address())
//
//	server.go      a server under a test: its process, its folder, its end
//	postgres.go    what is particular to each, and how it is asked whether it serves
//	redis.go
//	etcd.go
//	cassandra.go
//	tls.go         the same servers where they speak TLS, and nothing else: StartEtcdTLS and so on
//	build.go       the etcd server, made from tools/etcd
//	proxy.go       a network between a driver and its server that loses what tests want lost
//	recipe         the words that start a server, which bench/peer starts servers with, too
//
// # What a test can rely on
//
// A server is ready when a function returns it: it has answered in its own protocol. It ends
// with the test, and its folder goes with it. Where the test's process is killed the system
// ends the server (on Linux); the folder is then left to the program or user that clears TMPDIR.
//
// Servers do not wait for their disks, so what they have answered survives Kill and Restart,
// and not the end of the machine.
//
// # Servers that are not installed
//
// The test is skipped, and says what is missing and how it is got. With TEST_STORES=required
// in the environment it fails instead, which is how CI is run. etcd is then built from its
// module (tools/etcd), once, into the user's folder for caches; without the variable it is taken
// from there or, where it was never built, from PATH.
//
// A Cassandra takes 5 to 20 s and 0.7 GB. So all tests of a program share one, each with a
// keyspace of its own, and none is started but where stores are required: with
// TEST_STORES=required-but-cassandra all others are, and its tests are skipped.
//
// # Folders
//
// A folder lies in TMPDIR, unless the server refuses to run as root and runs as a user that
// cannot reach that: then in the first of /dev/shm and /tmp that it reaches.
package realstore
