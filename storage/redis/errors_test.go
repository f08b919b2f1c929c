package redis

import (
	"testing"

	"github.com/holdfast-locks/holdfast/storage"
)

// TestKinds: what the server's words say about a request, of scripts too, as they have come
// before version 7 and since.
func TestKinds(t *testing.T) {
	for text, want := range map[string]error{
		"LOADING Redis is loading the dataset in memory":                                                           storage.ErrRefused,
		"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.":                   storage.ErrRefused,
		"TRYAGAIN Multiple keys request during rehashing of slot":                                                  storage.ErrRefused,
		"CLUSTERDOWN Hash slot not served":                                                                         storage.ErrRefused,
		"READONLY You can't write against a read only replica.":                                                    storage.ErrRefused,
		"READONLY You can't write against a read only replica. script: f, on @user_script:1.":                      storage.ErrRefused,
		"ERR Error running script (call to f_1): @user_script:1: @user_script: 1: -READONLY You can't write":       storage.ErrRefused,
		"OOM command not allowed when used memory > 'maxmemory'.":                                                  storage.ErrRefused,
		"ERR max number of clients reached":                                                                        storage.ErrRefused,
		"WRONGTYPE Operation against a key holding the wrong kind of value script: f, on @user_script:1.":          storage.ErrInvalid,
		"ERR Error running script (call to f_1): @user_script:1: @user_script: 1: WRONGTYPE Operation against a k": storage.ErrInvalid,
		"NOAUTH Authentication required.":                                                                          storage.ErrInvalid,
		"NOPERM User default has no permissions to run the 'evalsha' command":                                      storage.ErrInvalid,
		"ERR unknown command 'HELLO'":                                                                              storage.ErrInvalid,
		"ERR user_script:3: attempt to index nil":                                                                  storage.ErrUnknown,
		"": storage.ErrUnknown,
	} {
		if got := kindOf(text, storage.ErrUnknown); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// TestMember: a column of any bytes comes back, and sorts as it did.
func TestMember(t *testing.T) {
	columns := []string{"\x00", "\x00\x00", "\x00\x01", "\x00\xff", "\x01", "a", "a\x00", "a\x00\x00", "a\x00\x01", "a\x01", "aa", "\xff", "\xff\xff"}
	last := ""
	for _, column := range columns {
		member := escape(column) + endOfName + stamp(1<<62) + "\x00\x00\x01\x00" + "v\x00\x01"
		entry, end, err := parse(member)
		if entry != (storage.Entry{Column: column, Value: "v\x00\x01"}) || end != 256 || err != nil {
			t.Errorf("%q: %q, %v, %v", column, entry, end, err)
		}
		if member <= last {
			t.Errorf("%q does not come behind %q", member, last)
		}
		last = member
	}
	for _, member := range []string{"", "a", "a\x00\x01" + stamp(1)} {
		if entry, _, err := parse(member); err == nil {
			t.Errorf("%q is %q", member, entry)
		}
	}
}
