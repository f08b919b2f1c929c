package cassandra

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/holdfast-locks/holdfast/storage"
)

// options are the settings from a URL.
type options struct {
	hosts          []string // each a host, or host:port
	user, password string
	keyspace       string
	table          string
	local          bool          // quorums within one data centre
	center         string        // the data centre whose nodes are used or preferred
	replication    string        // of a keyspace to create, in CQL; empty: none is created
	grace          time.Duration // gc_grace_seconds; zero: that of the table, or the default
	tls            bool
	ca, cert, key  string // PEM files
	server         string // the name that the nodes' certificates must be for; empty: the host
	timeout        time.Duration
	retries        int
}

// The defaults of options.
const (
	defaultPort    = 9042
	defaultTable   = "locks"
	defaultGrace   = time.Hour
	defaultTimeout = 6 * time.Second
)

// names matches names of keyspaces and tables that need no quotes; Cassandra allows 48 bytes, some of which swapSuffix
// needs. Programs that open no store of this kind do without it.
var names = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_]{0,42}$`) })

// centers matches names of data centres as snitches make them.
var centers = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`) })

// parse parses a URL. Its errors wrap storage.ErrInvalid, and never contain the password.
func parse(text string) (*options, error) {
	o, err := read(text)
	if err != nil {
		return nil, fmt.Errorf("read the URL of a Cassandra: %w: %w", err, storage.ErrInvalid)
	}
	return o, nil
}

func read(text string) (*options, error) {
	const scheme = "cassandra://"
	rest, ok := strings.CutPrefix(text, scheme)
	if !ok {
		return nil, errors.New("it does not begin with " + scheme)
	}
	// Package net/url allows only one host.
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	account, hosts := "", rest[:end]
	if at := strings.LastIndex(hosts, "@"); at >= 0 {
		account, hosts = hosts[:at+1], hosts[at+1:]
	}
	u, err := url.Parse(scheme + account + "host" + rest[end:])
	if err != nil {
		// The package's error contains the whole URL, with the password.
		return nil, errors.New("it is malformed: write special characters in user, password and options as %XX")
	}
	o := &options{hosts: strings.Split(hosts, ","), keyspace: strings.TrimPrefix(u.Path, "/")}
	if u.User != nil {
		o.user = u.User.Username()
		o.password, _ = u.User.Password()
	}
	if slices.Contains(o.hosts, "") {
		return nil, fmt.Errorf("hosts %q; want host:port, or several with commas between them", hosts)
	}
	if !names().MatchString(o.keyspace) {
		return nil, fmt.Errorf("keyspace %q; want a letter, then letters, digits and underscores, all lower case and 43 at most, as in cassandra://host/holdfast", o.keyspace)
	}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errors.New("its options are malformed: write special characters in them as %XX")
	}
	return o, o.set(values)
}

// set parses the options after the question mark.
func (o *options) set(values url.Values) error {
	known := []string{"ca", "cert", "consistency", "dc", "gc_grace", "key", "replication", "retries", "server_name", "table", "timeout", "tls"}
	for name, list := range values {
		if !slices.Contains(known, name) {
			return fmt.Errorf("option %q; known are %s", name, strings.Join(known, ", "))
		}
		if len(list) > 1 {
			return fmt.Errorf("option %s is there %d times; once is allowed", name, len(list))
		}
	}
	o.table = or(values.Get("table"), defaultTable)
	if !names().MatchString(o.table) {
		return fmt.Errorf("table %q; want a letter, then letters, digits and underscores, all lower case and 43 at most", o.table)
	}
	o.center = values.Get("dc")
	if o.center != "" && !centers().MatchString(o.center) {
		return fmt.Errorf("dc %q; want the name of a data centre, as in dc=dc1", o.center)
	}
	switch consistency := or(values.Get("consistency"), "quorum"); {
	case consistency == "local_quorum" && o.center == "":
		return errors.New("consistency local_quorum without dc; name the data centre that all users of the locks share, as in dc=dc1")
	case consistency == "local_quorum":
		o.local = true
	case consistency != "quorum":
		return fmt.Errorf("consistency %q; locks need quorum or local_quorum", consistency)
	}
	var err error
	if o.replication, err = replication(values.Get("replication")); err != nil {
		return err
	}
	if err := o.setTLS(values); err != nil {
		return err
	}
	if o.grace, err = duration(values, "gc_grace", 0, time.Second, 365*24*time.Hour); err != nil {
		return err
	}
	if o.timeout, err = duration(values, "timeout", defaultTimeout, 10*time.Millisecond, time.Hour); err != nil {
		return err
	}
	if o.retries, err = strconv.Atoi(or(values.Get("retries"), "0")); err != nil || o.retries < 0 || o.retries > 100 {
		return fmt.Errorf("retries %q; 0 to 100 are allowed", values.Get("retries"))
	}
	return nil
}

func (o *options) setTLS(values url.Values) error {
	o.ca, o.cert, o.key, o.server = values.Get("ca"), values.Get("cert"), values.Get("key"), values.Get("server_name")
	switch value := values.Get("tls"); value {
	case "true":
		o.tls = true
	case "", "false":
	default:
		return fmt.Errorf("tls %q; true and false are allowed", value)
	}
	switch {
	case !o.tls && o.ca+o.cert+o.key+o.server != "":
		return errors.New("ca, cert, key or server_name without tls=true; add tls=true, or leave them out")
	case (o.cert == "") != (o.key == ""):
		return errors.New("one of cert and key without the other; give both files, or none")
	}
	return nil
}

// duration parses a duration option.
func duration(values url.Values, name string, zero, least, most time.Duration) (time.Duration, error) {
	text := values.Get(name)
	if text == "" {
		return zero, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < least || d > most {
		return 0, fmt.Errorf("%s %q; %v to %v are allowed, as in %s=90s", name, text, least, most, name)
	}
	return d, nil
}

// replication returns the CQL of "3", which is that many replicas in each data centre, or of "dc1:3,dc2:3".
func replication(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	cql := "{'class': 'NetworkTopologyStrategy'"
	for _, part := range strings.Split(text, ",") {
		center, count, named := strings.Cut(part, ":")
		if !named {
			center, count = "replication_factor", part
		}
		if n, err := strconv.Atoi(count); err != nil || n < 1 || n > 100 || !centers().MatchString(center) || !named && part != text {
			return "", fmt.Errorf("replication %q; want a number of replicas, as in 3, or one for each data centre, as in dc1:3,dc2:3", text)
		}
		cql += fmt.Sprintf(", '%s': %s", center, count)
	}
	return cql + "}", nil
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// levels returns the consistency of plain requests and that of swaps and serial reads.
func (o *options) levels() (plain, serial gocql.Consistency) {
	if o.local {
		return gocql.LocalQuorum, gocql.LocalSerial
	}
	return gocql.Quorum, gocql.Serial
}
