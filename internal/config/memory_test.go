package config

import (
	"strings"
	"testing"
	"time"
)

// TestDurableDefault: the default space is kept on the disk, in the folder that was named or in that of state. What
// is configured otherwise is not.
func TestDurableDefault(t *testing.T) {
	folder := t.TempDir()
	for _, test := range []struct {
		flags          map[string]string
		protocol, data string // of the default space; the data folder, with the state folder in front
		why            string
	}{
		{map[string]string{}, "consensus", "STATE/data", ""},
		{map[string]string{"join": "127.0.0.1:1,127.0.0.1:2", "expect": "3"}, "consensus", "STATE/data", ""},
		{map[string]string{"join": "127.0.0.1:1"}, "consensus", "STATE/data", ""},
		{map[string]string{"listen": "unix:///run/h.sock"}, "consensus", "STATE/data", ""},
		{map[string]string{"state": "elsewhere"}, "consensus", "elsewhere/data", ""},
		{map[string]string{"data": folder}, "consensus", folder, ""},
		{map[string]string{"data": folder, "listen": "127.0.0.1:0"}, "consensus", folder, ""},
		{map[string]string{"spaces": "a=central"}, "consensus", "STATE/data", ""},
		{map[string]string{"spaces": "a=central", "data": folder}, "consensus", folder, ""},
		{map[string]string{"spaces": "default=grantor", "data": folder}, "grantor", folder, ""},
		{map[string]string{"spaces": "default=central"}, "central", "", ""},
		{map[string]string{"spaces": "a=consensus,shards=3;default=central"}, "central", "STATE/data", ""},
		{map[string]string{"spaces": "default=consensus,shards=3"}, "consensus", "STATE/data", ""},
		{map[string]string{"memory": "true"}, "central", "", ""},
		{map[string]string{"memory": "true", "spaces": "a=consensus"}, "central", "STATE/data", ""},
		{map[string]string{"memory": "true", "spaces": "default=grantor"}, "grantor", "", ""},
		{map[string]string{"state": "none"}, "central", "", "state none"},
		{map[string]string{"state": "none", "memory": "true"}, "central", "", ""},
		{map[string]string{"listen": "127.0.0.1:0"}, "central", "", "port 0 and no name"},
		{map[string]string{"listen": "127.0.0.1:0", "name": "a"}, "consensus", "STATE/data", ""},
		{map[string]string{"listen": "127.0.0.1:0", "memory": "true"}, "central", "", ""},
		{map[string]string{"listen": "127.0.0.1:0", "join": "127.0.0.1:1", "advertise": "127.0.0.1:2"}, "consensus", "STATE/data", ""},
		{map[string]string{"spaces": "a=central,partition=any"}, "central", "", "partition any of space a"},
		{map[string]string{"spaces": "a=central,preempt=true"}, "central", "", "preempt true of space a"},
	} {
		c, err := Load(Sources{Flags: test.flags})
		if err != nil {
			t.Errorf("%v: %v", test.flags, err)
			continue
		}
		state, err := c.StateDir("a", []string{"XDG_STATE_HOME=/s"})
		if err != nil {
			t.Errorf("%v: %v", test.flags, err)
		}
		want := strings.ReplaceAll(test.data, "STATE", "/s/holdfast/a")
		if got := c.DataDir(state); c.Spaces[0].Protocol != test.protocol || got != want || c.ImpliedMemory() != test.why {
			t.Errorf("%v: protocol %s, data in %q, because of %q; want %s, %q, %q", test.flags, c.Spaces[0].Protocol, got, c.ImpliedMemory(), test.protocol, want, test.why)
		}
		if _, given := test.flags["data"]; given && state != folder {
			t.Errorf("%v: the cell is in %q, want %q", test.flags, state, folder)
		}
	}
}

// TestMemoryOrigin: the printed configuration says what keeps the default space in memory.
func TestMemoryOrigin(t *testing.T) {
	for _, test := range []struct {
		sources Sources
		want    string
	}{
		{Sources{}, "default"},
		{Sources{Environ: []string{"HOLDFAST_MEMORY=true"}}, "environment HOLDFAST_MEMORY"},
		{Sources{Flags: map[string]string{"memory": "true"}}, "flag --memory"},
		{Sources{Flags: map[string]string{"state": "none"}}, "default with state none"},
		{Sources{Flags: map[string]string{"memory": "false"}}, "default"},
	} {
		if got := mustLoad(t, test.sources).origins["spaces.default"]; got != test.want {
			t.Errorf("%+v: the default space is from %q, want %q", test.sources, got, test.want)
		}
	}
}

// TestMemoryRefused: what contradicts itself.
func TestMemoryRefused(t *testing.T) {
	for _, test := range []struct {
		flags      map[string]string
		key, parts string
	}{
		{map[string]string{"memory": "true", "spaces": "default=consensus"}, "memory", `"true" from flag --memory: space "default=consensus" from flag --space keeps its locks on the disk; leave memory out`},
		{map[string]string{"memory": "false", "state": "none"}, "memory", `the default space cannot be kept on the disk with state none`},
		{map[string]string{"memory": "false", "listen": "127.0.0.1:0"}, "memory", `the default space cannot be kept on the disk with port 0 and no name`},
		{map[string]string{"memory": "false", "spaces": "a=central,partition=any"}, "memory", `the default space cannot be kept on the disk with partition any of space a`},
		{map[string]string{"state": "none", "spaces": "billing=consensus"}, "spaces.billing", `"billing=consensus" from flag --space: protocol consensus keeps its locks on the disk, and there is no folder to find again with state none; leave state out`},
		{map[string]string{"listen": "127.0.0.1:0", "spaces": "default=consensus"}, "spaces.default", `there is no folder to find again with port 0 and no name; give the member a name with --name NAME, or a folder with --data DIR`},
	} {
		found := problems(t, Sources{Flags: test.flags})
		if len(found) != 1 {
			t.Fatalf("%d problems, want one: %v", len(found), found)
		}
		matches(t, found[0], test.key, test.parts)
	}
}

// TestDurableHomeless: where there is no folder for the state, the error names what can be done.
func TestDurableHomeless(t *testing.T) {
	for flag, want := range map[string]string{"false": "--data DIR, or --state DIR, or keep locks in memory with --memory", "true": "give --state DIR, or --state none"} {
		c := mustLoad(t, Sources{Flags: map[string]string{"memory": flag}})
		if _, err := c.StateDir("a", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("memory %s: %v, want %q", flag, err, want)
		}
	}
}

// TestLongestTTL is a day on the disk and a minute in memory, where an hour is the most that may be configured.
func TestLongestTTL(t *testing.T) {
	for _, test := range []struct {
		flags map[string]string
		want  time.Duration
	}{
		{nil, 24 * time.Hour},
		{map[string]string{"memory": "true"}, time.Minute},
		{map[string]string{"spaces": "a=bakery"}, time.Minute},
		{map[string]string{"memory": "true", "lease": "2m"}, 2 * time.Minute},
		{map[string]string{"memory": "true", "limits.ttl": "1h"}, time.Hour},
		{map[string]string{"limits.ttl": "10h"}, 10 * time.Hour},
	} {
		if c, err := Load(Sources{Flags: test.flags}); err != nil || c.Limits.TTL != test.want {
			t.Errorf("%v: %v, %v; want %v", test.flags, c, err, test.want)
		}
	}
	found := problems(t, Sources{Flags: map[string]string{"memory": "true", "limits.ttl": "2h"}})
	if len(found) != 1 || found[0].Key != "limits.ttl" || found[0].Allowed != "1h or less" {
		t.Errorf("two hours in memory: %v", found)
	}
}
