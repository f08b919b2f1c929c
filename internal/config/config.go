package config

import (
	"io/fs"
	"maps"
	"time"
)

// Config is a checked configuration. Its fields are those of the file, by the same names; [Keys] has their meaning and
// allowed values.
type Config struct {
	Name       string // "" means DefaultName of the listen address
	Listen     string // HOST:PORT; "" means only Socket
	Socket     string // path of a Unix socket; "" means none
	SocketMode fs.FileMode
	HTTP       string   // "" means that HTTP is off
	Hosts      []string // further hosts of HTTP requests
	Advertise  string   // "" means the listen address
	Join       []string // the other founders, each once, in normal form
	Expect     int      // number of founders; 0 if not given
	State      string   // "" means the user's state folder; see StateDir
	Data       string   // "" means the default of DataDir
	Memory     bool     // the default space is in memory unless spaces defines it
	Candidate  int      // 1 to 14; 0 means off
	Lease      time.Duration
	Patience   time.Duration
	Drift      float64
	Spaces     []Space // default first, then by name
	TLS        TLS
	Access     string // file of the policy; "" means the default policy, "none" that every caller may do everything
	Tokens     string // file of the tokens; "" means the default of TokensFile
	Audit      Audit
	Limits     Limits
	Log        Log
	Trace      string // file for the trace of the member's steps; "" means none
	TraceSize  int    // maximum size of that file in bytes
	Insecure   bool
	// InsecureFiles accepts files with secrets that other users can read, and folders that they can change.
	InsecureFiles bool
	File          string // the file that was read; "" means none

	// origins has the origin of each key's value: "flag --lease", "environment HOLDFAST_LEASE", "file PATH line 3" or
	// "default". The key of a space is "spaces." and its name.
	origins   map[string]string
	implied   string // see ImpliedMemory
	undefined bool   // no space is defined, and memory is not requested
}

// Space is one lockspace.
type Space struct {
	Name     string
	Protocol string
	Options  map[string]string // only the given ones; nil for none
}

// Audit is the audit log.
type Audit struct {
	To       string // stderr, syslog or a file; "" means that it is kept in memory alone
	Locks    bool   // with every grant and release
	Optional bool   // operators' calls are taken while it cannot be written
}

// TLS is the material for both ports. Without Cert and Key there is no TLS.
type TLS struct {
	Cert       string // PEM file: the certificate and its chain
	Key        string // PEM file: its private key
	CA         string // PEM file: the authority of members' certificates, and of clients' without ClientCA
	ClientCA   string // PEM file: the authority of clients' certificates
	ClientAuth string // require, verify or none
	MinVersion string // 1.2 or 1.3
	// Members are the names of the members, or patterns of them; empty means every name.
	Members []string
}

// Limits bounds clients' requests.
type Limits struct {
	TTL             time.Duration // longest session TTL
	Sessions        int
	LocksPerSession int
	WaitersPerName  int
	Names           int // in one space
	NameBytes       int
	ValueBytes      int
	MessageBytes    int
	Connections     int // of each port

	ConnectionsPerAddress int // of each port; 0 means a quarter

	Watchers int
	Requests int // remembered by their ids

	RequestsPerSecond int // of one client; 0 means no limit
	RequestsBurst     int // 0 means one second's worth
}

// Log configures the log.
type Log struct {
	Level  string // debug, info, warn, error
	Format string // text, json
}

// Sources are the sources of a configuration.
type Sources struct {
	// Flags has the raw text of each given flag, by the dotted name of its key. The values of a repeated flag are
	// joined with Key.Separator.
	Flags map[string]string
	// Environ is the environment as os.Environ returns it.
	Environ []string
	// File is the path of the YAML file. "" means the key config in Flags or Environ, and no file if that is not set.
	File string
}

// Load reads and merges all sources and checks the result. The error is an *Error with every problem found.
func Load(sources Sources) (*Config, error) {
	l := &loader{keys: Keys(), bad: map[string]bool{}}
	l.config.origins = map[string]string{}
	layers := l.layers(sources)
	if err := l.merge(layers); err != nil {
		return nil, err
	}
	l.read()
	l.check()
	if len(l.problems) > 0 {
		return nil, &Error{Problems: l.problems}
	}
	return &l.config, nil
}

// clone copies a space, so that changes to a caller's options do not affect it.
func (s Space) clone() Space {
	s.Options = maps.Clone(s.Options)
	return s
}
