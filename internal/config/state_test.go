package config

import (
	"strings"
	"testing"
)

func TestStateDir(t *testing.T) {
	for _, test := range []struct {
		state   string
		environ []string
		want    string
	}{
		{"", []string{"HOME=/users/u"}, "/users/u/.local/state/holdfast/a"},
		{"", []string{"HOME=/users/u", "XDG_STATE_HOME=/s"}, "/s/holdfast/a"},
		{"", []string{"HOME=/users/u", "XDG_STATE_HOME=relative"}, "/users/u/.local/state/holdfast/a"},
		{"", []string{"HOME=/users/u", "XDG_STATE_HOME="}, "/users/u/.local/state/holdfast/a"},
		{"none", nil, ""},
		{"cell", nil, "cell"},
	} {
		c := &Config{State: test.state}
		if got, err := c.StateDir("a", test.environ); got != test.want || err != nil {
			t.Errorf("state %q, %v: got %q, %v; want %q", test.state, test.environ, got, err, test.want)
		}
	}
	for _, environ := range [][]string{nil, {"HOME="}, {"HOME=here"}} {
		_, err := (&Config{}).StateDir("a", environ)
		if err == nil || !strings.Contains(err.Error(), "state: \"\" from default: ") || !strings.Contains(err.Error(), "--state none") {
			t.Errorf("%v: got %v, want an error that says what to do", environ, err)
		}
	}
	for _, name := range []string{"", "..", "a/b"} {
		if got, err := (&Config{}).StateDir(name, []string{"HOME=/users/u"}); err == nil {
			t.Errorf("name %q: got %q, want an error", name, got)
		}
	}
}

func TestDefaultName(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:4040":                   "127.0.0.1-4040",
		"lock.example:1":                   "lock.example-1",
		"[::1]:4040":                       "1-4040",
		"[::ffff:10.0.0.1]:4040":           "10.0.0.1-4040",
		"[2001:db8::7]:65535":              "2001-db8--7-65535",
		"[fe80::1%eth0]:1":                 "fe80--1-eth0-1",
		"[::]:4040":                        "0.0.0.0-4040",
		":4040":                            "0.0.0.0-4040",
		"0.0.0.0:4040":                     "0.0.0.0-4040",
		strings.Repeat("h", 200) + ":4040": strings.Repeat("h", 59) + "-4040",
		"/run/holdfast.sock":               "run-holdfast.sock",
		strings.Repeat("h", 200):           strings.Repeat("h", 64),
		"host:" + strings.Repeat("9", 200): "host-" + strings.Repeat("9", 32),
		"höst:1":                           "h-st-1",
	} {
		got := DefaultName(address)
		if got != want {
			t.Errorf("%s: got %q, want %q", address, got, want)
		}
		if wrong := checkMemberName(got); wrong != nil {
			t.Errorf("%s: %q is no name: %s", address, got, wrong.wrong)
		}
	}
}
