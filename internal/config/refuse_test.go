package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRefused gives one bad value as a flag and reads the complaint.
func TestRefused(t *testing.T) {
	notFolder := write(t, "file", "")
	for _, test := range []struct{ key, value, parts string }{
		{"name", strings.Repeat("n", 65), "has 65 characters|allowed: 1 to 64 of the characters|shorten it"},
		{"name", strings.Repeat("ü", 400), `"ü|"… from flag --name: it has 800 characters`},
		{"name", "a b", `"a b" from flag --name: it contains ' '|replace that character`},
		{"name", "..", "folder that exists everywhere|give another one"},
		{"name", "a\nb", `"a\nb"|control character|take it out`},
		{"name", "\xff", "not UTF-8"},
		{"listen", "", `"" from flag --listen: it is empty|as in 127.0.0.1:4040`},
		{"listen", "4040", "it is not HOST:PORT|allowed: HOST:PORT with a port of 0 to 65535"},
		{"listen", "::1:4040", "it is not HOST:PORT"},
		{"listen", "127.0.0.1:65536", "port is not a number from 0 to 65535"},
		{"listen", "127.0.0.1:http", "port is not a number"},
		{"listen", "a/b:1", "neither an IP address nor a host name|correct the host"},
		{"listen", "0.0.0.0:4040", "no TLS|allowed: an address that is loopback|--tls-cert and --tls-key|--insecure"},
		{"listen", ":5000", "other machines can reach it"},
		{"listen", "lock.example:5000", "other machines can reach it"},
		{"http", "off", "it is not HOST:PORT|or empty"},
		{"http", "[::]:4041", "other machines can reach it"},
		{"http", "localhost:4040", "listen has the same port at 127.0.0.1:4040|allowed: another port, or empty"},
		{"advertise", "10.0.0.1:0", "port 0 names no place|1 to 65535"},
		{"advertise", "0.0.0.0:4040", "names no machine|others reach this machine by"},
		{"advertise", ":4040", "names no machine"},
		{"join", "10.0.0.1:4040,,10.0.0.2:4040", `"" in it: it is empty`},
		{"join", "10.0.0.1", `"10.0.0.1" in it: it is not HOST:PORT`},
		{"expect", "0", "it is too small|1 or more"},
		{"expect", "two", "not a whole number"},
		{"priority", "0", "too small|allowed: 1 to 14, or off"},
		{"priority", "15", "too large|give 14 or less"},
		{"priority", "high", "not a whole number"},
		{"state", notFolder, "it is not a folder|name another path"},
		{"data", notFolder, "it is not a folder|name another path"},
		{"lease", "3", `"3" from flag --lease: it is not a duration|allowed: 100ms to 1h, and more than 8 times patience|a number and a unit, as in 3s`},
		{"lease", "", "it is not a duration"},
		{"lease", "99ms", "too short|give 100ms or more"},
		{"lease", "61m", "too long|give 1h or less"},
		{"lease", "2s", "2 poll intervals of 200ms, the silence of 600ms that arouses suspicion and 4 × patience of 250ms: 2s|allowed: more than 2s with this patience|raise lease or lower patience"},
		{"patience", "0s", "too short"},
		{"patience", "6m", "too long"},
		{"drift", "0", "out of bounds|allowed: more than 0, at most 0.5"},
		{"drift", "0.51", "out of bounds"},
		{"drift", "NaN", "out of bounds"},
		{"drift", "5%", "not a number|as in 0.05"},
		{"limits.ttl", "25h", "too long|give 24h or less"},
		{"limits.ttl", "2s", "shorter than the lease of 3s|raise limits.ttl or lower lease"},
		{"limits.sessions", "0", "too small|allowed: 1 to 2147483647"},
		{"limits.locks_per_session", "-1", "too small"},
		{"limits.waiters_per_name", "1e3", "not a whole number"},
		{"limits.name_bytes", "513", "too large|allowed: 1 to 512"},
		{"limits.value_bytes", "4097", "too large|allowed: 1 to 4096"},
		{"limits.message_bytes", "100", "too small|give 4096 or more"},
		{"limits.message_bytes", "99999999999999999999", "not a whole number that fits"},
		{"tls.client_auth", "optional", "none of the choices|allowed: require, verify, none"},
		{"log.level", "INFO", "none of the choices|allowed: debug, info, warn, error|did you mean info?"},
		{"log.format", "jsom", "did you mean json?"},
		{"insecure", "yes", "write true or false"},
		{"config", "/no/such/file.yaml", `"/no/such/file.yaml" from flag --config: it cannot be read: no such file`},
		{"lese", "3s", "there is no such key|did you mean lease?"},
	} {
		refused(t, test.key, test.value, test.parts)
	}
}

// refused gives one bad value as a flag, and wants one complaint with all the parts.
func refused(t *testing.T, key, value, parts string) {
	t.Run(key+"="+value[:min(len(value), 20)], func(t *testing.T) {
		found := problems(t, Sources{Flags: map[string]string{key: value}})
		if len(found) != 1 {
			t.Fatalf("%d problems, want one: %v", len(found), found)
		}
		matches(t, found[0], key, parts)
	})
}

// TestPlacesRefused is TestRefused for where a member listens, and under which names.
func TestPlacesRefused(t *testing.T) {
	for _, test := range []struct{ key, value, parts string }{
		{"listen", "unix://h.sock", "not the whole path of a file|unix:///run/holdfast.sock|choose another path"},
		{"listen", "unix:///run/" + strings.Repeat("s", 100), "has 105 bytes; a socket's path has at most 99"},
		{"listen", "unix:///a,unix:///b", "names two sockets"},
		{"listen", "127.0.0.1:1,127.0.0.1:2", "names two addresses"},
		{"listen", "127.0.0.1:1,", "names two addresses"},
		{"listen", "0.0.0.0:4040,unix:///a", "no TLS|allowed: an address that is loopback|--insecure"},
		{"socket_mode", "0400", "its owner can read and write|write it as in 0660"},
		{"socket_mode", "1600", "its owner can read and write"},
		{"socket_mode", "rw", "its owner can read and write"},
		{"hosts", "a,,b", `"" in it is neither`},
		{"hosts", "a:80", `"a:80" in it is neither an IP address nor a host name|without a port`},
	} {
		refused(t, test.key, test.value, test.parts)
	}
}

// allowed lists the options that a space of a protocol can have.
func allowed(protocol string) string {
	list := optionsOf(protocol)
	return strings.Join(list.Names(), ", ")
}

func TestSpacesRefused(t *testing.T) {
	for _, test := range []struct{ value, key, parts string }{
		{"billing", "spaces", "names no protocol|NAME=PROTOCOL[,option=value…]|billing=central"},
		{"=central", "spaces", "1 to 64 are allowed|another name"},
		{"a/b=central", "spaces", "contains '/'"},
		{"a=bakery,grace", "spaces", `option "grace" has no value|write option=value`},
		{"a=central,preempt=true,preempt=false", "spaces", "given twice"},
		{"a=central;a=central", "spaces.a", "the space is given twice"},
		{"a=bakery,partition=any", "spaces.a", `option partition cannot be "any": a lock is decided by a majority of the leaders; allowed: primary; leave it out for primary, or use protocol central or grantor`},
		{"a=bakery,messages=publish", "spaces.a", `option messages cannot be "publish"; allowed: merged, published; did you mean published?`},
		{"a=bakery,grace=on", "spaces.a", `option grace cannot be "on"; allowed: 0, snaplock, 1s to 1h; leave it out for 0`},
		{"a=bakery,grace=5", "spaces.a", `option grace cannot be "5"; allowed: 0, snaplock, 1s to 1h; did you mean 0?`},
		{"a=bakery,grace=10ms", "spaces.a", `option grace cannot be "10ms": it is too short; allowed: 0, snaplock, 1s to 1h; give 1s or more`},
		{"a=bakery,grace=61m", "spaces.a", `it is too long|give 1h or less`},
		{"a=bakery,priority=3", "spaces.a", `protocol bakery has no option "priority"; allowed: ` + allowed("bakery")},
		{"a=permission,grace=5s", "spaces.a", `protocol permission has no option "grace"; allowed: ` + allowed("permission") + `; leave it out`},
		{"a=grantor,placement=load", "spaces.a", `option placement cannot be "load"; allowed: off, on, 1s to 1h; leave it out for off`},
		{"a=grantor,placement=", "spaces.a", `option placement cannot be ""; allowed: off, on, 1s to 1h; leave it out for off`},
		{"a=grantor,placement=-30s", "spaces.a", `option placement cannot be "-30s": it is too short; allowed: off, on, 1s to 1h; give 1s or more`},
		{"a=grantor,placement=999ms", "spaces.a", `it is too short|give 1s or more`},
		{"a=grantor,placement=30", "spaces.a", `option placement cannot be "30"; allowed: off, on, 1s to 1h`},
		{"a=grantor,hold_on=61m", "spaces.a", `option hold_on cannot be "61m": it is too long; allowed: off, on, 1s to 1h; give 1h or less`},
		{"a=grantor,hold_on=true", "spaces.a", `option hold_on cannot be "true"; allowed: off, on, 1s to 1h`},
		{"a=grantor,holdon=on", "spaces.a", `protocol grantor has no option "holdon"; allowed: ` + allowed("grantor") + `; did you mean hold_on?`},
		{"a=central,placement=on", "spaces.a", `protocol central has no option "placement"; allowed: ` + allowed("central") + `; leave it out`},
		{"a=grantor,partition=all", "spaces.a", `option partition cannot be "all"; allowed: primary, any`},
		{"a=grantors", "spaces.a", "did you mean grantor?"},
		{"a=permission,partition=any", "spaces.a", `option partition cannot be "any": no member could merge what the sides of a partition have granted; allowed: primary; leave it out for primary, or use protocol central or grantor`},
		{"a=permission,partition=all", "spaces.a", `option partition cannot be "all"; allowed: primary; leave it out for primary`},
		{"a=permission,capacity=0", "spaces.a", `option capacity cannot be "0": it is too small; allowed: off, 1 to 2147483647; give 1 or more`},
		{"a=permission,capacity=-2", "spaces.a", `it is too small`},
		{"a=permission,capacity=2147483648", "spaces.a", `option capacity cannot be "2147483648": it is too large; allowed: off, 1 to 2147483647; give 2147483647 or less`},
		{"a=permission,capacity=two", "spaces.a", `option capacity cannot be "two"; allowed: off, 1 to 2147483647; leave it out for off`},
		{"a=permission,capacity=99999999999999999999", "spaces.a", `option capacity cannot be "99999999999999999999"; allowed: off, 1 to`},
		{"a=permission,retain=on", "spaces.a", `option retain cannot be "on"; allowed: false, true`},
		{"a=permission,defer=", "spaces.a", `option defer cannot be ""; allowed: false, true`},
		{"a=permission,placement=on", "spaces.a", `protocol permission has no option "placement"; allowed: ` + allowed("permission") + `; leave it out`},
		{"a=grantor,retain=true", "spaces.a", `protocol grantor has no option "retain"; allowed: ` + allowed("grantor")},
		{"a=central,capacity=2", "spaces.a", `protocol central has no option "capacity"; allowed: ` + allowed("central") + `; leave it out`},
		{"a=centrall", "spaces.a", "central, grantor, permission, bakery, claim, consensus|did you mean central?"},
		{"a=", "spaces.a", `there is no protocol ""|use central, grantor, permission, bakery, claim or consensus`},
		{"a=central,shards=1", "spaces.a", `no option "shards"; allowed: ` + allowed("central") + `; leave it out`},
		{"a=central,partitoin=any", "spaces.a", "did you mean partition?"},
		{"a=central,partition=all", "spaces.a", `option partition cannot be "all"; allowed: primary, any`},
		{"a=central,preempt=1", "spaces.a", "allowed: false, true; leave it out for false"},
		{"a=central,partition=any;b=central", "spaces.b", "its partition is primary, and that of space default is any; a member has one view for all its spaces|write partition=any here"},
		{"a=central,partition=any;b=permission", "spaces.b", "its partition is primary, and that of space default is any; a member has one view for all its spaces|write partition=primary in the others, or give this one another protocol"},
		{"default=central;a=central,preempt=true", "spaces.a", "its preempt is true, and that of space default is false"},
	} {
		t.Run(test.value, func(t *testing.T) {
			found := problems(t, Sources{Flags: map[string]string{"spaces": test.value}})
			if len(found) != 1 {
				t.Fatalf("%d problems, want one: %v", len(found), found)
			}
			matches(t, found[0], test.key, test.parts)
		})
	}
}

// TestOpenListen: TLS or a word of consent opens a port to the network.
func TestOpenListen(t *testing.T) {
	pem := material(t)
	for _, flags := range []map[string]string{
		{"listen": "0.0.0.0:4040", "http": "[::]:4041", "insecure": "true"},
		{"listen": ":4040", "tls.cert": pem.cert, "tls.key": pem.key, "tls.ca": pem.cert},
		{"listen": "127.9.9.9:0", "http": "[::1]:0"},
		{"listen": "LocalHost:4040", "http": ""},
	} {
		mustLoad(t, Sources{Flags: flags})
	}
}

// TestAllProblems: everything that is wrong is reported, in the order of Keys.
func TestAllProblems(t *testing.T) {
	path := write(t, "h.yaml", "nmae: a\nlimits: {ttl: 1d}\nspaces: {x: {protocol: raft}}\n")
	found := problems(t, Sources{
		File:    path,
		Environ: []string{"HOLDFAST_DRIFT=9", "HOLDFAST_LESE=1s"},
		Flags:   map[string]string{"listen": "10.0.0.1:1", "lease": "1s", "log.level": "all"},
	})
	var keys []string
	for _, p := range found {
		keys = append(keys, p.Key)
	}
	want := []string{"nmae", "HOLDFAST_LESE", "listen", "lease", "drift", "spaces.x", "limits.ttl", "log.level"}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("problems with (-want +got):\n%s", diff)
	}
	if want := "file " + path + " line 2"; found[6].Origin != want {
		t.Errorf("limits.ttl is from %s, want %s", found[6].Origin, want)
	}
}

func TestUnknownVariable(t *testing.T) {
	for _, test := range []struct{ entry, key, parts string }{
		{"HOLDFAST_LESE=secret", "HOLDFAST_LESE", "from the environment: no command knows this variable|did you mean HOLDFAST_LEASE?"},
		{"HOLDFAST_SERVERS=a", "HOLDFAST_SERVERS", "did you mean HOLDFAST_SERVER?"},
		{"HOLDFAST_TLS=a", "HOLDFAST_TLS", "unset it"},
		{"HOLDFAST_COMPLETELY_DIFFERENT=a", "HOLDFAST_COMPLETELY_DIFFERENT", "unset it"},
		{"HOLDFAST_PORT=1", "HOLDFAST_PORT", "no command knows"},
		{"HOLDFAST_=", "HOLDFAST_", "no command knows"},
		{"HOLDFAST_lease=1s", "HOLDFAST_lease", "no command knows"},
	} {
		found := problems(t, Sources{Environ: []string{test.entry}})
		if len(found) != 1 || strings.Contains(found[0].String(), "secret") {
			t.Errorf("%s: got %v, want one problem that does not show the value", test.entry, found)
		}
		matches(t, found[0], test.key, test.parts)
	}
}

// TestOthersVariables: a daemon may be started where a client is set up, by the
// child of a lock, and in a pod next to a Service of the name holdfast.
func TestOthersVariables(t *testing.T) {
	var environ []string
	for _, name := range OtherVariables() {
		environ = append(environ, name+"=x")
	}
	for _, needed := range []string{"LOCK_NAME", "LOCK_TOKEN", "LOCK_MODE", "LOCK_SESSION", "LOCK_DEADLINE", "SERVER", "SPACE", "TIMEOUT", "TOKEN_FILE"} {
		if !slices.Contains(OtherVariables(), "HOLDFAST_"+needed) {
			t.Errorf("HOLDFAST_%s is not listed", needed)
		}
	}
	environ = append(environ, "HOLDFASTER=1", "holdfast_lease=1", "NO_COLOR=1",
		"HOLDFAST_SERVICE_HOST=10.0.0.1", "HOLDFAST_SERVICE_PORT=4040", "HOLDFAST_SERVICE_PORT_GRPC=4040",
		"HOLDFAST_PORT=tcp://10.0.0.1:4040", "HOLDFAST_PORT_4040_TCP_ADDR=10.0.0.1",
		"HOLDFAST_A_SERVICE_HOST=10.0.0.2", "HOLDFAST_A_PORT_4040_TCP=tcp://10.0.0.2:4040")
	if c := mustLoad(t, Sources{Environ: environ}); c.origins["lease"] != "default" {
		t.Errorf("lease is from %s", c.origins["lease"])
	}
}

// TestDurableRefused: what spaces of protocol consensus must not have, where there is a folder.
func TestDurableRefused(t *testing.T) {
	folder := t.TempDir()
	for _, test := range []struct{ value, key, parts string }{
		{"a=consensus,partition=any", "spaces.a", `option partition cannot be "any": a lock is decided by a majority of the voters; allowed: primary`},
		{"a=consensus,preempt=true", "spaces.a", `option preempt cannot be "true": no coordinator decides its locks; allowed: false`},
		{"a=consensus,shards=257", "spaces.a", `option shards cannot be "257": it is too large; allowed: 1 to 256; give 256 or less`},
		{"a=consensus,autopilot=999ms", "spaces.a", `option autopilot cannot be "999ms": it is too short; allowed: off, 1s to 720h`},
		{"a=consensus,autopilot=721h", "spaces.a", `option autopilot cannot be "721h": it is too long`},
		{"a=consensus,autopilot=on", "spaces.a", `option autopilot cannot be "on"; allowed: off, 1s to 720h`},
		{"a=consensus,shards=0", "spaces.a", `option shards cannot be "0": it is too small; allowed: 1 to 256; give 1 or more`},
	} {
		found := problems(t, Sources{Flags: map[string]string{"spaces": test.value, "data": folder}})
		if len(found) != 1 {
			t.Fatalf("%d problems, want one: %v", len(found), found)
		}
		matches(t, found[0], test.key, test.parts)
	}
	_, err := Load(Sources{Flags: map[string]string{"state": "none", "data": folder}})
	if err == nil || !strings.Contains(err.Error(), "another one after each start") {
		t.Errorf("state none with data: %v", err)
	}
}
