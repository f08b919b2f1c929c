package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWhoJoins: this member's own address may stand in join or not, in any spelling;
// the others come out once each, in one spelling.
func TestWhoJoins(t *testing.T) {
	for _, test := range []struct {
		flags   map[string]string
		join    []string
		address string
		guest   bool
	}{
		{map[string]string{}, nil, "127.0.0.1:4040", false},
		{map[string]string{"expect": "1"}, nil, "127.0.0.1:4040", false},
		{map[string]string{"join": "localhost:04040", "expect": "1"}, nil, "127.0.0.1:4040", false},
		{map[string]string{"join": "a.example:7", "advertise": "A.Example.:7", "expect": "1"}, nil, "a.example:7", false},
		{
			map[string]string{"join": "LOCALHOST:4041,[::ffff:127.0.0.1]:4040,127.0.0.1:4042,127.0.0.1:04042", "expect": "3"},
			[]string{"127.0.0.1:4041", "127.0.0.1:4042"},
			"127.0.0.1:4040", false,
		},
		{map[string]string{"join": "127.0.0.1:4041,127.0.0.1:4042", "expect": "3"}, []string{"127.0.0.1:4041", "127.0.0.1:4042"}, "127.0.0.1:4040", false},
		{map[string]string{"join": "127.0.0.1:4041", "listen": "127.0.0.1:0"}, []string{"127.0.0.1:4041"}, "127.0.0.1:0", true},
		{
			map[string]string{"join": "10.0.0.1:4040", "listen": "0.0.0.0:4040", "insecure": "true", "advertise": "10.0.0.2:4040", "expect": "2"},
			[]string{"10.0.0.1:4040"},
			"10.0.0.2:4040", false,
		},
	} {
		c := mustLoad(t, Sources{Flags: test.flags})
		if diff := cmp.Diff(test.join, c.Join); diff != "" {
			t.Errorf("%v: join (-want +got):\n%s", test.flags, diff)
		}
		if c.Address() != test.address || c.Guest() != test.guest || c.Clustered() != (len(test.join) > 0) {
			t.Errorf("%v: address %s, guest %v, clustered %v", test.flags, c.Address(), c.Guest(), c.Clustered())
		}
	}
}

// TestWhoCannotJoin: what would never become a cluster is refused at the start, with
// what either side says.
func TestWhoCannotJoin(t *testing.T) {
	open := func(more map[string]string) map[string]string {
		more["insecure"] = "true"
		return more
	}
	for _, test := range []struct {
		flags map[string]string
		key   string
		parts string
	}{
		{map[string]string{"join": "127.0.0.1:4040"}, "join", "own address alone|--expect 1 for a single member"},
		{map[string]string{"expect": "2"}, "expect", "own address 127.0.0.1:4040 the founders are 1 (127.0.0.1:4040)|1 with this join of no address|list every founder"},
		{
			map[string]string{"join": "127.0.0.1:4041,127.0.0.1:4042,127.0.0.1:4043", "expect": "3"}, "expect",
			`"3" from flag --expect|founders are 4 (127.0.0.1:4040, 127.0.0.1:4041, 127.0.0.1:4042, 127.0.0.1:4043)|` +
				"4 with this join of 3 (127.0.0.1:4041, 127.0.0.1:4042, 127.0.0.1:4043)",
		},
		{map[string]string{"join": "127.0.0.1:1,localhost:01,127.0.0.1:4040", "expect": "3"}, "expect", "founders are 2|join of 3"},
		{map[string]string{"join": "127.0.0.1:1", "expect": "1"}, "expect", "founders are 2"},
		{map[string]string{"join": "127.0.0.1:1", "expect": "2", "listen": "127.0.0.1:0"}, "listen", "port 0 is known after the start only"},
		{open(map[string]string{"join": "10.0.0.1:1", "listen": "0.0.0.0:4040"}), "listen", "names no machine|--advertise HOST:PORT"},
		{map[string]string{"join": "10.0.0.1:1"}, "listen", "only this machine can reach it, and 10.0.0.1:1 in join is another|--listen or --advertise"},
		{open(map[string]string{"join": "10.0.0.1:1", "listen": "10.0.0.2:1", "advertise": "localhost:1"}), "advertise", "only this machine can reach it"},
	} {
		found := problems(t, Sources{Flags: test.flags})
		if len(found) != 1 {
			t.Errorf("%v: %d problems, want one: %v", test.flags, len(found), found)
		}
		matches(t, found[0], test.key, test.parts)
	}
}
