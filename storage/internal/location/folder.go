package location

import (
	"fmt"
	"net/url"
	"strings"
)

// ParseFolder parses the URL of a folder of this machine: SCHEME:///FOLDER, with the option sync, which is true if it is
// left out. The error says what is wrong, and what is allowed.
func ParseFolder(text, scheme string) (path string, synced bool, err error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "", false, err
	case u.Scheme != scheme:
		return "", false, fmt.Errorf("it begins with %q; it must begin with %s:///", u.Scheme+":", scheme)
	case u.Host != "" || u.User != nil:
		return "", false, fmt.Errorf("it names the host %q; a folder of this machine has three slashes: %s:///%s%s", u.Host, scheme, u.Host, u.Path)
	case u.Path == "" || u.Path == "/":
		return "", false, fmt.Errorf("it names no folder; put one behind %s://, as in %[1]s:///var/lib/holdfast", scheme)
	case u.Fragment != "":
		return "", false, fmt.Errorf("it has #%s; write %%23 for a # in a folder's name", u.Fragment)
	}
	options, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "", false, fmt.Errorf("read its options: %w", err)
	}
	synced = true
	for name, values := range options {
		value := values[len(values)-1]
		switch {
		case name != "sync":
			return "", false, fmt.Errorf("it has the option %q; sync is the only one", name)
		case len(values) > 1 || value != "true" && value != "false":
			return "", false, fmt.Errorf("its option sync is %q; true or false, once, is allowed", strings.Join(values, ", "))
		}
		synced = value == "true"
	}
	return u.Path, synced, nil
}
