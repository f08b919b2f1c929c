package config

import (
	"slices"
	"strings"
	"time"
)

// Kind is the form of a key's values.
type Kind int

// The kinds of keys.
const (
	Text     Kind = iota // any text
	Count                // a whole number
	Fraction             // a decimal number
	Duration             // a Go duration: 250ms, 3s, 1h
	Switch               // true or false; as a flag it needs no value
	List                 // several texts; the flag may be repeated
	Spaces               // several spaces; the flag may be repeated
)

// Key is one configuration key.
type Key struct {
	Name    string // dotted: tls.cert
	Flag    string // without its dashes: tls-cert
	Env     string // HOLDFAST_TLS_CERT
	Kind    Kind
	Default string // as written
	Allowed string // accepted values, for errors and help
	Help    string // one sentence
	// Separator joins the values of a repeated flag for Sources.Flags; "" means that the flag may be given once. The
	// flag parser must not split values at commas: --space a=central,preempt=true is one value.
	Separator string
	// InFile is false for keys that are not allowed in the file.
	InFile bool

	read   func(c *Config, text string) *flaw // sets the field, or returns the fault
	format func(c *Config) string             // formats the field
}

// flaw is a fault of a text, and the fix.
type flaw struct{ wrong, fix string }

// Keys returns every key, in the order of the documentation. The caller owns the slice.
func Keys() []Key {
	keys := slices.Concat(memberKeys(), leaseKeys(), spaceKeys(), tlsKeys(), accessKeys(), limitKeys(), logKeys(), startKeys())
	for i := range keys {
		key := &keys[i]
		if key.Flag == "" {
			key.Flag = strings.NewReplacer(".", "-", "_", "-").Replace(key.Name)
		}
		key.Env = variable(key.Name)
		key.InFile = key.Name != "config"
	}
	return keys
}

// variable returns the environment variable of a key.
func variable(name string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
}

func memberKeys() []Key {
	return []Key{
		nameKey(),
		listenKey(),
		modeKey(),
		addressKey("http", "127.0.0.1:4041", func(c *Config) *string { return &c.HTTP }, address{freePort: true, anyHost: true, optional: true},
			"Address for HTTP/JSON, metrics and health; port 0 picks a free one, empty turns it off."),
		hostsKey(),
		addressKey("advertise", "", func(c *Config) *string { return &c.Advertise }, address{optional: true},
			"Address under which other members and clients reach this member; by default the listen address."),
		joinKey(),
		expectKey(),
		textKey("state", "", func(c *Config) *string { return &c.State },
			"a folder, none, or empty for the user's state folder",
			"Folder of the member's state, and by default of its data; none keeps nothing across restarts and implies memory; by default a folder with the member's name in the user's state folder."),
		textKey("data", "", func(c *Config) *string { return &c.Data },
			"a folder, or empty for the folder data in that of state",
			"Folder of the data of consensus spaces, and of the member's state unless state is given; by default the folder data in the state folder."),
		switchKey("memory", func(c *Config) *bool { return &c.Memory },
			"Keep the default space in memory, short for --space default=central: ten to a hundred times faster, but a lock is lost with the member that it was taken through; implied by --state none, and by port 0 without --name."),
		candidateKey(),
	}
}

func leaseKeys() []Key {
	return []Key{
		durationKey("lease", "3s", span{minLease, maxLease}, longerLease, func(c *Config) *time.Duration { return &c.Lease },
			"How long a member may act without hearing from a quorum; a short lease fails over fast, a long one tolerates longer pauses."),
		durationKey("patience", "250ms", span{minPatience, maxPatience}, "", func(c *Config) *time.Duration { return &c.Patience },
			"How long a member waits for another member's answer."),
		driftKey(),
	}
}

func spaceKeys() []Key {
	return []Key{{
		Name: "spaces", Flag: "space", Kind: Spaces, Default: "default=consensus", Separator: ";",
		Allowed: spaceSyntax,
		Help:    "A lockspace, its protocol and its options: NAME=PROTOCOL[,option=value…], as in jobs=grantor,placement=on or app=claim,store=redis://HOST; may be repeated.",
	}}
}

func tlsKeys() []Key {
	const file = "a PEM file that can be read, or empty"
	return []Key{
		textKey("tls.cert", "", func(c *Config) *string { return &c.TLS.Cert }, file,
			"PEM file of this member's certificate, which carries its name, and its chain; turns TLS on for both ports."),
		textKey("tls.key", "", func(c *Config) *string { return &c.TLS.Key }, file,
			"PEM file of the certificate's private key."),
		textKey("tls.ca", "", func(c *Config) *string { return &c.TLS.CA }, file,
			"PEM file of the authorities that signed the members' certificates and, without tls.client_ca, the clients'."),
		textKey("tls.client_ca", "", func(c *Config) *string { return &c.TLS.ClientCA }, file,
			"PEM file of the authorities that signed the clients' certificates, if they are not those of the members."),
		choiceKey("tls.client_auth", authRequire, []string{authRequire, authVerify, authNone}, func(c *Config) *string { return &c.TLS.ClientAuth },
			"Client certificates with TLS: required (require), verified if given (verify), or not asked for (none); tls.client_ca or tls.ca must have signed them."),
		membersKey(),
		choiceKey("tls.min_version", version13, []string{version12, version13}, func(c *Config) *string { return &c.TLS.MinVersion },
			"Lowest version of TLS on both ports and between members; 1.2 is spoken with authenticated encryption (AES-GCM, ChaCha20) and ephemeral keys alone."),
	}
}

func accessKeys() []Key {
	return []Key{
		textKey("access", "", func(c *Config) *string { return &c.Access },
			"a YAML file that can be read, none, or empty",
			"File that says who may do what, read again when it changes; without it everyone may lock and read, and callers on this machine may do everything; none lets everyone do everything."),
		textKey("tokens", "", func(c *Config) *string { return &c.Tokens },
			"a file, or empty for tokens.yaml in the state folder",
			"File of the tokens that this member accepts, without their secrets; holdfast token create writes it."),
		textKey("audit", "", func(c *Config) *string { return &c.Audit.To },
			"stderr, syslog, a file, or empty",
			"Where the audit log goes: one line of JSON for each operator's call and each refusal; a file is rotated at 100 MiB, and opened anew on HUP."),
		switchKey("audit_locks", func(c *Config) *bool { return &c.Audit.Locks },
			"Add every grant, release and loss of a lock to the audit log."),
		switchKey("audit_optional", func(c *Config) *bool { return &c.Audit.Optional },
			"Take operators' calls even while the audit log cannot be written."),
	}
}

func limitKeys() []Key {
	return []Key{
		longestTTLKey(),
		countKey("limits.sessions", "100000", 1, maxCount, func(c *Config) *int { return &c.Limits.Sessions },
			"Most sessions at one time."),
		countKey("limits.locks_per_session", "100000", 1, maxCount, func(c *Config) *int { return &c.Limits.LocksPerSession },
			"Most locks that one session may hold or wait for."),
		countKey("limits.waiters_per_name", "10000", 1, maxCount, func(c *Config) *int { return &c.Limits.WaitersPerName },
			"Most requests that may wait for one name."),
		countKey("limits.names", "1000000", 1, maxCount, func(c *Config) *int { return &c.Limits.Names },
			"Most names of one space that are held or waited for at one time."),
		countKey("limits.name_bytes", "512", 1, maxNameBytes, func(c *Config) *int { return &c.Limits.NameBytes },
			"Longest name, in bytes."),
		countKey("limits.value_bytes", "4096", 1, maxValueBytes, func(c *Config) *int { return &c.Limits.ValueBytes },
			"Longest value that a lock publishes, in bytes."),
		countKey("limits.message_bytes", "4194304", minMessageBytes, maxMessageBytes, func(c *Config) *int { return &c.Limits.MessageBytes },
			"Largest message or request body, in bytes."),
		countKey("limits.connections", "20000", 1, maxCount, func(c *Config) *int { return &c.Limits.Connections },
			"Most connections of each port at one time; fewer if the process may open fewer files."),
		countKey("limits.connections_per_address", "0", 0, maxCount, func(c *Config) *int { return &c.Limits.ConnectionsPerAddress },
			"Most connections of each port from one address, not counting those from this machine; 0 is a quarter of the port's."),
		countKey("limits.watchers", "1000", 1, maxWatchers, func(c *Config) *int { return &c.Limits.Watchers },
			"Most feeds of events at one time."),
		countKey("limits.requests", "100000", 1, maxRequests, func(c *Config) *int { return &c.Limits.Requests },
			"Most requests that a member remembers by their clients' ids, to run each only once."),
		countKey("limits.requests_per_second", "0", 0, maxCount, func(c *Config) *int { return &c.Limits.RequestsPerSecond },
			"Most requests a second of one client, which its certificate's name or its address identifies; 0 is no limit."),
		countKey("limits.requests_burst", "0", 0, maxCount, func(c *Config) *int { return &c.Limits.RequestsBurst },
			"Most requests of one client in a burst, if limits.requests_per_second is set; 0 is one second's worth."),
	}
}

func logKeys() []Key {
	return []Key{
		choiceKey("log.level", "info", []string{"debug", "info", "warn", "error"}, func(c *Config) *string { return &c.Log.Level },
			"Lowest level that is logged."),
		choiceKey("log.format", "text", []string{"text", "json"}, func(c *Config) *string { return &c.Log.Format },
			"Format of log lines."),
		textKey("trace", "", func(c *Config) *string { return &c.Trace },
			"a file that is no other's, or empty",
			"File for the trace of the member, for sim replay; it contains lock names and no secrets."),
		countKey("trace_size", "1073741824", minTraceSize, maxTraceSize, func(c *Config) *int { return &c.TraceSize },
			"Largest size of the trace in bytes; the trace ends there."),
	}
}

func startKeys() []Key {
	return []Key{
		switchKey("insecure", func(c *Config) *bool { return &c.Insecure },
			"Allow a listen address other than loopback without TLS."),
		switchKey("insecure_files", func(c *Config) *bool { return &c.InsecureFiles },
			"Accept a private key and tokens that other users of the machine can read, and an access file and folders of state and data that they can change."),
		{
			Name: "config", Kind: Text, Allowed: "a YAML file that can be read, or empty",
			Help:   "YAML file to read; flags and environment variables override it.",
			read:   func(*Config, string) *flaw { return nil },
			format: func(c *Config) string { return c.File },
		},
	}
}
