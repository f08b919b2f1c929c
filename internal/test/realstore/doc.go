// Package realstore starts real servers for tests: PostgreSQL, Redis, etcd and Cassandra, each on a free port of
// 127.0.0.1, in its own folder.
//
//	url := realstore.Redis(t)                   just a server; the test needs its URL
//	server := realstore.StartRedis(t)           a server for fault injection: Kill, Restart, Pause, Resume
//	proxy := realstore.NewProxy(t, server.Address())
//
//	server.go      a server under a test: its process, its folder, its end
//	postgres.go    the specifics of each, and its readiness check
//	redis.go
//	etcd.go
//	cassandra.go
//	tls.go         the same servers with TLS only: StartEtcdTLS and so on
//	build.go       the etcd server, made from tools/etcd
//	proxy.go       a network between a driver and its server that drops on request
//	recipe         the commands that start a server, shared with bench/peer
//
// # Guarantees
//
// A server is ready when a function returns it: it has answered in its own protocol. It ends with the test, and its
// folder is removed. If the test's process is killed, the system ends the server (on Linux), and the folder stays in
// TMPDIR.
//
// Servers do not wait for their disks, so acknowledged writes survive Kill and Restart, but not a crash of the machine.
//
// # Missing servers
//
// If a server is not installed, the test is skipped, and names what is missing and how to get it. With
// TEST_STORES=required in the environment it fails instead, which is how CI is run. etcd is then built from its module
// (tools/etcd), once, into the user's folder for caches; without the variable it is taken from there or, if it was
// never built, from PATH.
//
// A Cassandra takes 5 to 20 s and 0.7 GB. So all tests of a program share one, each with its own keyspace, and it is
// started only if stores are required: with TEST_STORES=required-but-cassandra all others are required, and its tests
// are skipped.
//
// # Folders
//
// A folder is in TMPDIR, unless the server refuses to run as root and its user cannot reach TMPDIR: then it is in the
// first of /dev/shm and /tmp that the user can reach.
package realstore
