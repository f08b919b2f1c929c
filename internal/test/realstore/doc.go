// Package realstore starts real servers for tests: PostgreSQL, Redis, etcd and Cassandra, each on a free port of
// 127.0.0.1, in a separate folder.
//
//	url := realstore.Redis(t)                   just a server; the test needs its URL
//	server := realstore.StartRedis(t)           a server for faults: Kill, Restart, Pause, Resume
//	proxy := realstore.NewProxy(t, server.Address())
//
//	server.go      a server under a test: its process, its folder, its end
//	postgres.go    the settings of each, and its ping
//	redis.go
//	etcd.go
//	cassandra.go
//	tls.go         the same servers with TLS only: StartEtcdTLS and so on
//	build.go       the etcd server, made from tools/etcd
//	proxy.go       a network between a driver and its server, with faults
//	recipe         the commands that start a server, shared with bench/peer
//
// # Guarantees
//
// A server is ready when a function returns it: it has answered in its own protocol. It ends with the test, and its
// folder is removed. If the test's process is killed the system ends the server (on Linux); its folder then remains
// until TMPDIR is cleared.
//
// Servers do not wait for their disks, so their acknowledged data survives Kill and Restart, but not a crash of the
// machine.
//
// # Servers that are not installed
//
// If a server is missing, the test is skipped with the name of the server and how to install it. With
// TEST_STORES=required in the environment it fails instead, which is how CI runs. etcd is then built from its module
// (tools/etcd), once, into the user's cache folder; without the variable it is taken from there or, if it was never
// built, from PATH.
//
// A Cassandra takes 5 to 20 s and 0.7 GB. So all tests of a program share one, each with a separate keyspace, and it is
// only started if stores are required. With TEST_STORES=required-but-cassandra all other servers are required, and
// Cassandra's tests are skipped.
//
// # Folders
//
// A folder is in TMPDIR, unless the server refuses to run as root and runs as a user that cannot reach that: then it is
// in the first of /dev/shm and /tmp that this user reaches.
package realstore
