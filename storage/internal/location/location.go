package location

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/storage"
)

// Location is a parsed URL.
type Location struct {
	Scheme   string   // in lower case
	User     string   // empty if there is none
	Password string   // empty if there is none
	Hosts    []string // each HOST:PORT; at least one
	Path     string   // with its slash; empty if there is none

	options url.Values
	known   []string
	errs    []error
}

// Parse parses a URL with one of the schemes. A host without a port gets the default one. The error is an ErrInvalid
// that says what is wrong and contains no password.
func Parse(text, port string, schemes ...string) (*Location, error) {
	scheme, rest, found := strings.Cut(text, "://")
	l := &Location{Scheme: strings.ToLower(scheme)}
	if !found || !slices.Contains(schemes, l.Scheme) {
		// The text may be anything, including a password.
		return nil, fmt.Errorf("the store's URL begins with none of %s://: %w", strings.Join(schemes, "://, "), storage.ErrInvalid)
	}
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, found := strings.Cut(rest, "/")
	if found {
		l.Path = "/" + path
	}
	var err error
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, password, _ := strings.Cut(authority[:at], ":")
		if l.User, err = url.PathUnescape(user); err == nil {
			l.Password, err = url.PathUnescape(password)
		}
		if err != nil || strings.ContainsAny(password, ":@") {
			return nil, l.invalid("has a user or password that is not written as in a URL: write what is no letter or digit as %%XX")
		}
		authority = authority[at+1:]
	}
	if l.Path, err = url.PathUnescape(l.Path); err != nil || strings.Contains(path, "@") {
		return nil, l.invalid("has a path that is not written as in a URL: write what is no letter or digit as %%XX")
	}
	if l.options, err = url.ParseQuery(query); err != nil {
		return nil, l.invalid("has options that are not NAME=VALUE, with & between them and what is no letter or digit as %%XX")
	}
	for host := range strings.SplitSeq(authority, ",") {
		if err := l.addHost(host, port); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l *Location) addHost(text, port string) error {
	host, given, err := net.SplitHostPort(text)
	if err != nil {
		host, given, err = net.SplitHostPort(text + ":" + port)
	}
	if number, wrong := strconv.ParseUint(given, 10, 16); err != nil || wrong != nil || number == 0 || host == "" {
		return l.invalid("has %q where HOST:PORT is allowed, and several of them with commas between", text)
	}
	l.Hosts = append(l.Hosts, net.JoinHostPort(host, given))
	return nil
}

// invalid returns an error that says what is wrong with the URL.
func (l *Location) invalid(format string, args ...any) error {
	return fmt.Errorf("the store's URL (%s) %s: %w", l.Scheme, fmt.Sprintf(format, args...), storage.ErrInvalid)
}

// Refuse adds an error to those of Err. It must not contain a password.
func (l *Location) Refuse(format string, args ...any) {
	l.errs = append(l.errs, l.invalid(format, args...))
}

// value returns the last value of an option, and whether there is one.
func (l *Location) value(name string) (string, bool) {
	l.known = append(l.known, name)
	values := l.options[name]
	if len(values) == 0 {
		return "", false
	}
	return values[len(values)-1], true
}

// Text returns the value of an option, or the default.
func (l *Location) Text(name, usual string) string {
	if value, found := l.value(name); found {
		return value
	}
	return usual
}

// Flag reports whether an option is set: without a value, or to true.
func (l *Location) Flag(name string) bool {
	value, found := l.value(name)
	if !found || value == "" {
		return found
	}
	on, err := strconv.ParseBool(value)
	if err != nil {
		l.Refuse("has %s=%s; true or false is allowed", name, value)
	}
	return on
}

// Duration returns the value of an option, at least least, or the default.
func (l *Location) Duration(name string, usual, least time.Duration) time.Duration {
	value, found := l.value(name)
	if !found {
		return usual
	}
	duration, err := time.ParseDuration(value)
	if err != nil || duration < least {
		l.Refuse("has %s=%s; a time of at least %v is allowed, as in %s=%v", name, value, least, name, usual)
	}
	return duration
}

// Int returns the value of an option, from least to most, or the default.
func (l *Location) Int(name string, usual, least, most int) int {
	value, found := l.value(name)
	if !found {
		return usual
	}
	number, err := strconv.Atoi(value)
	if err != nil || number < least || number > most {
		l.Refuse("has %s=%s; %d to %d is allowed", name, value, least, most)
	}
	return number
}

// TLS returns the TLS configuration of the options ca, cert, key and server_name. Call it only for encrypted
// connections: otherwise these options are errors.
func (l *Location) TLS() *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: l.Text("server_name", "")}
	if file := l.Text("ca", ""); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			l.Refuse("has ca=%s, which cannot be read (%v)", file, err)
		}
		config.RootCAs = x509.NewCertPool()
		if err == nil && !config.RootCAs.AppendCertsFromPEM(text) {
			l.Refuse("has ca=%s, in which no certificate is (PEM)", file)
		}
	}
	cert, key := l.Text("cert", ""), l.Text("key", "")
	if cert == "" && key == "" {
		return config
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		l.Refuse("has cert=%s and key=%s, which make no certificate (%v)", cert, key, err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config
}

// Err returns all errors, including options that the driver has not read: an ErrInvalid, or nil.
func (l *Location) Err() error {
	errs := slices.Clone(l.errs)
	slices.Sort(l.known)
	l.known = slices.Compact(l.known)
	var unknown []string
	for name := range l.options {
		if !slices.Contains(l.known, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	if len(unknown) > 0 {
		errs = append(errs, l.invalid("has options that are not known: %q; known are %s", unknown, strings.Join(l.known, ", ")))
	}
	return errors.Join(errs...)
}
