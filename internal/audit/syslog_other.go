//go:build !unix

package audit

import "errors"

// errNotSynced is the error of a file that cannot be synced.
var errNotSynced = errors.ErrUnsupported

func openSystem() (sink, error) {
	return nil, errors.New("this system has no syslog; write to a file")
}
