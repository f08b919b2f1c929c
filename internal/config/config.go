package config

import (
	"io/fs"
	"maps"
	"time"
)

// Config is a checked configuration. Its fields are those of the file, by the same
// names; what each means and allows is in [Keys].
type Config struct {
	Name       string // "" means DefaultName of the address that is listened on
	Listen     string // HOST:PORT; "" means that Socket is all there is
	Socket     string // path of a Unix socket; "" means none
	SocketMode fs.FileMode
	HTTP       string   // "" means that HTTP is off
	Hosts      []string // further hosts of HTTP requests
	Advertise  string   // "" means the listen address
	Join       []string // the founders without this member itself, each once, in one spelling
	Expect     int      // how many founders there are; 0 means that it was not given
	State      string   // "" means the user's state folder; see StateDir
	Data       string   // "" means what DataDir makes of the state folder
	Memory     bool     // the default space is kept in memory where spaces does not define it
	Candidate  int      // 1 to 14; 0 means off
	Lease      time.Duration
	Patience   time.Duration
	Drift      float64
	Spaces     []Space // default first, then by name
	TLS        TLS
	Limits     Limits
	Log        Log
	Trace      string // the file that the member's steps are recorded to; "" means none
	TraceSize  int    // how many bytes that file may have
	Insecure   bool
	File       string // the file that was read; "" means none

	// origins has where the value of each key came from: "flag --lease", "environment
	// HOLDFAST_LEASE", "file PATH line 3" or "default". The key of a space is "spaces."
	// and its name.
	origins   map[string]string
	implied   string // see ImpliedMemory
	undefined bool   // no space is defined, and memory is not asked for
}

// Space is one lockspace.
type Space struct {
	Name     string
	Protocol string
	Options  map[string]string // only those that were given; nil where none were
}

// TLS is the material for both ports. Without Cert and Key there is no TLS.
type TLS struct {
	Cert       string // PEM file: the certificate and its chain
	Key        string // PEM file: its private key
	CA         string // PEM file: the authority of members' certificates, and of clients' without ClientCA
	ClientCA   string // PEM file: the authority of clients' certificates
	ClientAuth string // require, verify or none
}

// Limits bounds what callers may ask for.
type Limits struct {
	TTL             time.Duration // longest session TTL
	Sessions        int
	LocksPerSession int
	WaitersPerName  int
	Names           int // in one space
	NameBytes       int
	MessageBytes    int
	Connections     int // of each port
	Watchers        int
	Requests        int // remembered by their ids

	RequestsPerSecond int // of one client; 0 means no limit
	RequestsBurst     int // 0 means one second's worth
}

// Log says what is logged and how.
type Log struct {
	Level  string // debug, info, warn, error
	Format string // text, json
}

// Sources is where a configuration comes from.
type Sources struct {
	// Flags has the raw text of each flag that was given, by the dotted name of its
	// key. A flag that was repeated has its values joined with Key.Separator.
	Flags map[string]string
	// Environ is the environment as os.Environ returns it.
	Environ []string
	// File is the path of the YAML file. "" means what the key config says in Flags
	// or Environ, and no file if it says nothing.
	File string
}

// Load reads all sources, lays them over each other and checks the result. The
// error is an *Error with every problem that was found.
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

// clone copies a space, so that what a caller does to its options stays his.
func (s Space) clone() Space {
	s.Options = maps.Clone(s.Options)
	return s
}
