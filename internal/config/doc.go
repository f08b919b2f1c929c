// Package config is the daemon's configuration: its keys, their sources, their allowed values, and the result.
//
// # One definition of each key
//
// [Keys] lists every key in the order of the documentation. A key has one dotted name, and every other spelling follows
// from it:
//
//	name                      flag                        environment
//	lease                     --lease                     HOLDFAST_LEASE
//	tls.cert                  --tls-cert                  HOLDFAST_TLS_CERT
//	limits.locks_per_session  --limits-locks-per-session  HOLDFAST_LIMITS_LOCKS_PER_SESSION
//	spaces                    --space (repeated)          HOLDFAST_SPACES
//
// In the YAML file a dot is a level of nesting. The command `serve` builds its flags from this list. One key, config,
// is not allowed in the file: a file cannot name itself.
//
// # Precedence
//
// [Load] merges four sources: flags, then environment, then file, then defaults. A value keeps its origin through the
// merge, so errors and [Config.PrintConfig] can name it. Every source supplies plain text as written, and one parser
// per key turns it into a value: `lease: 3s` in a file and --lease 3s cannot differ.
//
// Spaces are merged one by one: a space on the command line replaces the space of that name in the file as a whole, and
// the file's other spaces stay. The space `default` always exists; unless configured, it uses `consensus`, or `central`
// with the key memory. On the command line a space is NAME=PROTOCOL[,option=value…]; in HOLDFAST_SPACES several of them
// are separated by semicolons.
//
// A variable set to an empty value counts as set: HOLDFAST_HTTP= turns HTTP off.
//
// # Strict validation
//
// Unknown keys, unknown HOLDFAST_ variables, values that do not parse or are out of bounds, and values that contradict
// each other are refused, all at once. The error is an [*Error] with one [Problem] for each; each is one line with the
// key, the value, its origin, the allowed values and the fix. A value that a stronger source overrides is not checked,
// but its key must exist.
//
// Variables of other commands are listed in [OtherVariables] and ignored, because a daemon may be started from a shell
// with client settings, or as the child of `holdfast lock`. So are those that Kubernetes sets in every pod when a
// Service is called holdfast.
//
// # Members of the cluster
//
// join with expect makes this member one of expect founders, join alone a guest, and neither a member alone. The
// founders are the addresses of join and the member's own, which may be among them. Every founder must arrive at the
// same set, or it would wait for a member that does not exist. So addresses are normalized (localhost is 127.0.0.1), a
// count that does not match is refused with both lists, and so is an address that the others could not reach. A space's
// options partition and preempt concern the member's one view, so all spaces have the same.
//
// # Options of protocols
//
// The further keys of a space are its protocol's: the Options of its package, which [Options] lists for all. All
// members must have the same options, except those that each may choose; otherwise the member is refused, with both
// values.
//
// # Options of claim
//
// A space of protocol claim has a store, which is a URL; package storage/open defines its form. On the command line a
// URL extends, commas included, to the next comma that is followed by an option of the protocol, so etcd://a,b,wait=1s
// has two hosts; a host that is called cas or cleaner is written with its port, and a semicolon as %3B. There cas and
// cleaner need no value.
//
// A URL may contain a password. No error shows it, and neither does [Config.PrintConfig], whose output then cannot be
// used as a file. The options are also checked as a whole: contradictions (an expiry too short for all tries of a
// write), two spaces with the same store and group, and a cluster whose store belongs to a single process are refused.
// Only the store can tell whether its other users have the same settings.
//
// # Where it listens
//
// listen is HOST:PORT, or unix:///PATH, or both with a comma between. Other members reach this one over the network, so
// a member of a cluster needs HOST:PORT. A socket's file has the mode of socket_mode, and a user that may write it may
// connect.
//
// A listen or HTTP address that other machines can reach needs TLS, or the operator's explicit consent to go without
// (insecure): an eavesdropper there can take every lock. advertise is not checked: the exposed address is the one this
// member listens on, and a proxy that encrypts may be in front of it.
//
// # Durability
//
// Spaces of protocol consensus, the default space's protocol unless configured, keep their locks in data: by default
// the folder data inside the state folder. With an explicit data folder the stable cell is there too, unless state
// names another folder; state none is refused with it. The key memory is short for a default space of protocol central.
// A member that would not find its folder again has no choice: state none implies memory, and so does port 0 without a
// name. So does another space with a partition or preempt option that a durable space cannot have.
// [Config.ImpliedMemory] is for the log.
package config
