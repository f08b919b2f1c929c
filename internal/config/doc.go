// Package config is the daemon's configuration: what may be set, where it may be
// set, what is allowed, and what the result is.
//
// # One definition of each key
//
// [Keys] lists every key in the order of the documentation. A key has one dotted
// name, and every other spelling follows from it:
//
//	name                      flag                        environment
//	lease                     --lease                     HOLDFAST_LEASE
//	tls.cert                  --tls-cert                  HOLDFAST_TLS_CERT
//	limits.locks_per_session  --limits-locks-per-session  HOLDFAST_LIMITS_LOCKS_PER_SESSION
//	spaces                    --space (repeated)          HOLDFAST_SPACES
//
// In the YAML file a dot is a level of nesting. The command `serve` builds its
// flags from this list. One key, config, is no key of the file: a file cannot name
// itself.
//
// # Precedence
//
// [Load] lays four sources over each other: flags, then environment, then file,
// then defaults. A value carries its origin through that merge, so that every
// complaint and [Config.PrintConfig] can say where it came from. Every source
// hands over plain text, exactly as it was written, and one reader for each key
// makes a value of it: `lease: 3s` in a file and --lease 3s cannot differ.
//
// Spaces are laid over each other one by one: a space that the command line names
// replaces the space of that name in the file as a whole, and the file's other
// spaces stay. The space `default` always exists; where it is not configured it is
// served by `consensus`, or with memory by `central`. On the command line a space is NAME=PROTOCOL[,option=value…];
// in HOLDFAST_SPACES several of them are separated by semicolons.
//
// A variable that is set to nothing counts as set: HOLDFAST_HTTP= turns HTTP off.
//
// # Nothing is guessed, nothing is skipped
//
// An unknown key, an unknown HOLDFAST_ variable, a value that does not parse, a
// value out of bounds and values that contradict each other are refused, all of
// them at once: the error is an [*Error] with one [Problem] for each, and each
// reads as one line that names the key, the value, where it came from, what is
// allowed, and the fix. A value that a stronger source has overruled is not
// judged, though its key must exist.
//
// Variables that belong to other commands are listed in [OtherVariables] and left
// alone, for a daemon may well be started by a shell in which a client is set up,
// or as the child of `holdfast lock`. So are those that Kubernetes sets in every
// pod when a Service is called holdfast.
//
// # Who belongs to the cluster
//
// join with expect makes this member one of expect founders, join alone a guest, and
// neither a member alone. The founders are the addresses of join and the member's own,
// which may stand among them; every founder must come to the same set, or it would wait
// for one that does not exist. So addresses are brought into one spelling (localhost is
// 127.0.0.1), a number that does not fit is refused with both lists, and so is an
// address that the others could not reach. A space's options partition and preempt are
// about the member's one view, so all spaces have the same.
//
// # Options of grantors
//
// The further keys of a space are its protocol's: the Options of its package, which [Options] lists for all. All members have the
// same options, those that each may choose aside, or are refused with both values.
//
// # Options of claim
//
// A space of protocol claim has a store, which is a URL: what stands there package storage/open says.
// On the command line a URL goes on, with any commas in it, until the next comma
// with an option of the protocol behind it, so etcd://a,b,wait=1s has two hosts; a host that is
// called cas or cleaner is written with its port, and a semicolon as %3B. There cas and cleaner need
// no value.
//
// A URL may have a password. No complaint shows it, and neither does [Config.PrintConfig], whose
// output is then no file to start from. The options are checked as
// a whole, too: what contradicts itself (an expiry that all tries of a write do not fit into), two
// spaces with one store and one group, and members of a cluster whose store is one process's are
// refused. Only the store can say whether its other users have the same settings.
//
// # Where it listens
//
// listen is HOST:PORT, or unix:///PATH, or both with a comma between. Other members reach
// this one over the network, so a member of a cluster needs HOST:PORT. A socket's file has
// the mode of socket_mode, and a user that may write it may connect.
//
// A listen or HTTP address that other machines can reach needs TLS, or the operator's word
// that it does not (insecure): a reader of what passes there can take every lock.
// advertise is not asked: what is open is where this member listens, and something that
// encrypts may stand before that.
//
// # What is kept
//
// Spaces of protocol consensus, which the default space is unless it is configured, keep their locks in data: by default
// the folder data in that of state. With a data folder of its own the stable cell is in that one too, unless state names
// another; none is refused with it. Memory is a choice: memory is short for a default space of protocol central. A member
// that would not find its folder again has no other: state none implies it, and so does port 0 where no name is given. So
// does another space whose partition or preempt a durable space cannot have. [Config.ImpliedMemory] is for the log.
package config
