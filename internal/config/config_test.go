package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
	"github.com/holdfast-locks/holdfast/protocol/consensus"
	"github.com/holdfast-locks/holdfast/protocol/grantor"
	"github.com/holdfast-locks/holdfast/protocol/permission"
)

// write makes a file of the test's own folder.
func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustLoad(t testing.TB, sources Sources) *Config {
	t.Helper()
	c, err := Load(sources)
	if err != nil {
		t.Fatalf("Load(%+v):\n%v", sources, err)
	}
	return c
}

// problems loads what must be refused.
func problems(t testing.TB, sources Sources) []Problem {
	t.Helper()
	c, err := Load(sources)
	var refused *Error
	if !errors.As(err, &refused) || c != nil {
		t.Fatalf("Load(%+v) = %+v, %v; want an *Error and nothing else", sources, c, err)
	}
	if len(refused.Problems) == 0 || strings.Count(err.Error(), "\n") != len(refused.Problems)-1 {
		t.Fatalf("an error of %d problems reads:\n%v", len(refused.Problems), err)
	}
	return refused.Problems
}

func TestDefaults(t *testing.T) {
	c := mustLoad(t, Sources{})
	c.origins = nil
	want := &Config{
		Listen: "127.0.0.1:4040", SocketMode: 0o600, HTTP: "127.0.0.1:4041",
		Candidate: 8, Lease: 3 * time.Second, Patience: 250 * time.Millisecond, Drift: 0.05,
		Spaces:    []Space{{Name: "default", Protocol: "consensus"}},
		TLS:       TLS{ClientAuth: "require", MinVersion: "1.3"},
		Limits:    Limits{TTL: 24 * time.Hour, Sessions: 100000, LocksPerSession: 100000, WaitersPerName: 10000, Names: 1000000, NameBytes: 512, ValueBytes: 4096, MessageBytes: 4194304, Connections: 20000, Watchers: 1000, Requests: 100000},
		Log:       Log{Level: "info", Format: "text"},
		TraceSize: 1 << 30,
		undefined: true,
	}
	if diff := cmp.Diff(want, c, cmp.AllowUnexported(Config{})); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

// TestKeys pins the spellings that scripts rely on.
func TestKeys(t *testing.T) {
	var names []string
	for _, key := range Keys() {
		names = append(names, key.Name)
		if key.Help == "" || !strings.HasSuffix(key.Help, ".") || key.Allowed == "" {
			t.Errorf("%s: help %q, allowed %q: want a sentence and a list", key.Name, key.Help, key.Allowed)
		}
		if (key.Separator != "") != (key.Kind == List || key.Kind == Spaces) {
			t.Errorf("%s: separator %q does not go with kind %d", key.Name, key.Separator, key.Kind)
		}
		if slices.Contains(OtherVariables(), key.Env) {
			t.Errorf("%s is listed as another command's", key.Env)
		}
	}
	want := strings.Fields(`name listen socket_mode http hosts advertise join expect state data memory priority lease patience drift spaces
		tls.cert tls.key tls.ca tls.client_ca tls.client_auth tls.members tls.min_version
		access tokens audit audit_locks audit_optional
		limits.ttl limits.sessions limits.locks_per_session limits.waiters_per_name limits.names limits.name_bytes limits.value_bytes limits.message_bytes
		limits.connections limits.connections_per_address limits.watchers limits.requests limits.requests_per_second limits.requests_burst
		log.level log.format trace trace_size insecure insecure_files config`)
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	l := loader{keys: Keys()}
	for _, spelled := range [][3]string{
		{"tls.cert", "tls-cert", "HOLDFAST_TLS_CERT"},
		{"limits.locks_per_session", "limits-locks-per-session", "HOLDFAST_LIMITS_LOCKS_PER_SESSION"},
		{"spaces", "space", "HOLDFAST_SPACES"},
	} {
		key, _ := l.key(spelled[0])
		if key.Flag != spelled[1] || key.Env != spelled[2] {
			t.Errorf("%s is spelled %s and %s, want %s and %s", spelled[0], key.Flag, key.Env, spelled[1], spelled[2])
		}
	}
}

// inYAML writes a key as a file does.
func inYAML(key, text string) string {
	if outer, inner, nested := strings.Cut(key, "."); nested {
		return outer + ": {" + inner + ": " + scalar(text) + "}\n"
	}
	return key + ": " + scalar(text) + "\n"
}

// threeValues are three good ones for each key, where there are as many.
func threeValues(t *testing.T, pem files) map[string][3]string {
	return map[string][3]string{
		"name":                           {"a", "007", "c.d_e-f"},
		"listen":                         {"127.0.0.1:5000", "[::1]:5001,unix:///run/h.sock", "unix:///run/h.sock"},
		"socket_mode":                    {"0660", "0777", "0600"},
		"hosts":                          {"a,b.example", "", "10.0.0.1"},
		"http":                           {"127.0.0.1:5000", "", "127.0.0.2:0"},
		"advertise":                      {"host:1", "", "10.0.0.1:65535"},
		"join":                           {"127.0.0.1:1", "127.0.0.1:1,127.0.0.1:2", "127.0.0.1:3"},
		"expect":                         {"1", "", "1"},
		"state":                          {t.TempDir(), "none", ""},
		"data":                           {"", "", ""},
		"memory":                         {"true", "false", "true"},
		"priority":                       {"1", "off", "14"},
		"lease":                          {"2500ms", "4s", "1h"},
		"patience":                       {"1ms", "374ms", "20ms"},
		"drift":                          {"0.5", "1e-03", "0.1"},
		"tls.cert":                       {pem.cert, copied(t, pem.cert), copied(t, pem.cert)},
		"tls.key":                        {pem.key, copied(t, pem.key), copied(t, pem.key)},
		"tls.ca":                         {pem.cert, copied(t, pem.cert), copied(t, pem.cert)},
		"tls.client_ca":                  {pem.cert, copied(t, pem.cert), copied(t, pem.cert)},
		"tls.client_auth":                {"verify", "none", "require"},
		"tls.members":                    {"m1,m2", "m-*", "[a-c]?"},
		"tls.min_version":                {"1.2", "1.3", "1.2"},
		"limits.ttl":                     {"3s", "10m", "59m"},
		"limits.sessions":                {"1", "2", "3"},
		"limits.locks_per_session":       {"1", "2", "2147483647"},
		"limits.waiters_per_name":        {"1", "2", "3"},
		"limits.names":                   {"1", "2", "3"},
		"limits.name_bytes":              {"1", "2", "512"},
		"limits.value_bytes":             {"1", "2", "4096"},
		"limits.connections":             {"1", "2", "3"},
		"limits.connections_per_address": {"1", "0", "2147483647"},
		"limits.watchers":                {"1", "2", "1048576"},
		"limits.requests":                {"1", "2", "1073741824"},

		"limits.requests_per_second": {"1", "0", "2147483647"},
		"limits.requests_burst":      {"1", "0", "3"},
		"limits.message_bytes":       {"4096", "8192", "1073741824"},
		"log.level":                  {"debug", "warn", "error"},
		"log.format":                 {"json", "text", "json"},
		"trace":                      {"/tmp/a.txt", "b.txt", ""},
		"trace_size":                 {"65536", "65537", "1099511627776"},
		"insecure":                   {"true", "false", "true"},
		"access":                     {"/etc/holdfast/access.yaml", "none", ""},
		"tokens":                     {"/etc/holdfast/tokens.yaml", "", "tokens.yaml"},
		"audit":                      {"stderr", "syslog", "/var/log/holdfast.jsonl"},
		"audit_locks":                {"true", "false", "true"},
		"audit_optional":             {"true", "false", "true"},
		"insecure_files":             {"true", "false", "true"},
	}
}

// TestPrecedence sets every key in the file, then also in the environment, then
// also as a flag, and looks where the value comes from each time.
func TestPrecedence(t *testing.T) {
	pem := material(t)
	with := map[string]map[string]string{
		"tls.cert":        {"tls.key": pem.key, "tls.client_auth": "none"},
		"tls.key":         {"tls.cert": pem.cert, "tls.client_auth": "none"},
		"tls.ca":          {"tls.cert": pem.cert, "tls.key": pem.key},
		"tls.client_ca":   {"tls.cert": pem.cert, "tls.key": pem.key},
		"tls.client_auth": {"tls.cert": pem.cert, "tls.key": pem.key, "tls.ca": pem.cert},
		"tls.members":     {"tls.cert": pem.cert, "tls.key": pem.key, "tls.ca": pem.cert},
	}
	values := threeValues(t, pem)
	for _, key := range Keys() {
		if key.Kind == Spaces || key.Name == "config" {
			continue // tests of their own
		}
		t.Run(key.Name, func(t *testing.T) {
			value, listed := values[key.Name]
			if !listed {
				t.Fatal("the table has no values for this key")
			}
			sources := Sources{Flags: map[string]string{}}
			for name, text := range with[key.Name] {
				sources.Flags[name] = text
			}
			expect := func(text, origin string) {
				t.Helper()
				c := mustLoad(t, sources)
				var alone Config
				if wrong := key.read(&alone, text); wrong != nil {
					t.Fatalf("%q does not parse: %v", text, wrong)
				}
				got, want := key.format(c), key.format(&alone)
				if got != want || c.origins[key.Name] != origin {
					t.Errorf("got %q from %s, want %q from %s", got, c.origins[key.Name], want, origin)
				}
			}
			if with[key.Name] == nil {
				expect(key.Default, "default")
			}
			if key.InFile {
				sources.File = write(t, "h.yaml", "# the first line\n"+inYAML(key.Name, value[0]))
				expect(value[0], "file "+sources.File+" line 2")
			}
			sources.Environ = []string{"PATH=/bin", "nothing", key.Env + "=" + value[1]}
			expect(value[1], "environment "+key.Env)
			sources.Flags[key.Name] = value[2]
			expect(value[2], "flag --"+key.Flag)
		})
	}
}

// TestPrecedenceOfSpaces: a space is replaced as a whole, the others stay.
func TestPrecedenceOfSpaces(t *testing.T) {
	sources := Sources{
		File: write(t, "h.yaml", `
spaces:
  b.c: {protocol: central, partition: any}
  a: {protocol: central, preempt: true}
  z: {protocol: claim}
`),
		Environ: []string{"HOLDFAST_SPACES=a=grantor,partition=any; y=central,partition=any,preempt=false;"},
		Flags:   map[string]string{"spaces": "z=central,partition=any;default=central,partition=any"},
	}
	c := mustLoad(t, sources)
	want := []Space{
		{"default", "central", map[string]string{"partition": "any"}},
		{"a", "grantor", map[string]string{"partition": "any"}},
		{"b.c", "central", map[string]string{"partition": "any"}},
		{"y", "central", map[string]string{"partition": "any", "preempt": "false"}},
		{"z", "central", map[string]string{"partition": "any"}},
	}
	if diff := cmp.Diff(want, c.Spaces); diff != "" {
		t.Errorf("spaces (-want +got):\n%s", diff)
	}
	origins := map[string]string{
		"default": "flag --space", "a": "environment HOLDFAST_SPACES", "b.c": "file " + sources.File + " line 3",
		"y": "environment HOLDFAST_SPACES", "z": "flag --space",
	}
	for name, origin := range origins {
		if got := c.origins["spaces."+name]; got != origin {
			t.Errorf("space %s is from %s, want %s", name, got, origin)
		}
	}
}

// TestOptions: what is given for a space, on the command line and in a file, is what its protocol gets.
func TestOptions(t *testing.T) {
	folder := t.TempDir()
	for _, test := range []struct {
		options, file string
		want          protocol.Options
	}{
		{"grantor", "{protocol: grantor}", &grantor.Options{}},
		{"grantor,placement=off,hold_on=off", "{protocol: grantor, placement: off, hold_on: off}", &grantor.Options{}},
		{"grantor,placement=on", "{protocol: grantor, placement: on}", &grantor.Options{Placement: 10 * time.Second}},
		{"grantor,hold_on=on", "{protocol: grantor, hold_on: on}", &grantor.Options{HoldOn: time.Minute}},
		{"grantor,placement=1s,hold_on=1h", "{protocol: grantor, placement: 1s, hold_on: 1h}", &grantor.Options{Placement: time.Second, HoldOn: time.Hour}},
		{"grantor,hold_on=1s,placement=60m", "{protocol: grantor, hold_on: 1s, placement: 60m}", &grantor.Options{Placement: time.Hour, HoldOn: time.Second}},
		{"bakery,messages=merged,grace=0,partition=primary", "{protocol: bakery, messages: merged, grace: 0, partition: primary}", &bakery.Options{}},
		{"bakery,messages=published,grace=snaplock", "{protocol: bakery, messages: published, grace: snaplock}", &bakery.Options{Published: true, Grace: bakery.GraceOfHold}},
		{"bakery,grace=90s,preempt", "{protocol: bakery, grace: 90s, preempt: true}", &bakery.Options{Grace: 90 * time.Second, Common: protocol.Common{Preempt: true}}},
		{"permission,defer=false,retain=false,capacity=off", "{protocol: permission, defer: false, retain: false, capacity: off}", &permission.Options{}},
		{"permission,defer,preempt=true", "{protocol: permission, defer: true, preempt: true}", &permission.Options{Defer: true, Common: protocol.Common{Preempt: true}}},
		{"permission,retain=true", "{protocol: permission, retain: true}", &permission.Options{Retain: true}},
		{"permission,capacity=1", "{protocol: permission, capacity: 1}", &permission.Options{Capacity: 1}},
		{"permission,capacity=2147483647,defer=true", "{protocol: permission, defer: true, capacity: 2147483647}", &permission.Options{Capacity: 2147483647, Defer: true}},
		{"consensus", "{protocol: consensus}", &consensus.Options{}},
		{"consensus,shards=4,autopilot=off", "{protocol: consensus, shards: 4, autopilot: off}", &consensus.Options{Shards: 4, Autopilot: consensus.NoAutopilot}},
		{"consensus,autopilot=720h", "{protocol: consensus, autopilot: 720h}", &consensus.Options{Autopilot: 720 * time.Hour}},
	} {
		for _, sources := range []Sources{
			{Flags: map[string]string{"spaces": "default=" + test.options, "data": folder}},
			{File: write(t, "h.yaml", "data: "+folder+"\nspaces:\n  default: "+test.file+"\n")},
		} {
			if diff := cmp.Diff(test.want, typed(t, mustLoad(t, sources).Spaces[0])); diff != "" {
				t.Errorf("%+v (-want +got):\n%s", sources, diff)
			}
		}
	}
}

// typed are the options that the protocol of a space gets.
func typed(t *testing.T, s Space) protocol.Options {
	t.Helper()
	options, err := described(s.Protocol).Parse(s.ProtocolOptions())
	if err != nil {
		t.Fatalf("space %v: %v", s, err)
	}
	return options
}

// TestFilePath: the flag --config, then HOLDFAST_CONFIG, name the file.
func TestFilePath(t *testing.T) {
	one, two := write(t, "one.yaml", "name: one"), write(t, "two.yaml", "name: two")
	variable := []string{"HOLDFAST_CONFIG=" + one}
	for _, test := range []struct {
		sources            Sources
		name, file, origin string
	}{
		{Sources{}, "", "", "default"},
		{Sources{Environ: variable}, "one", one, "environment HOLDFAST_CONFIG"},
		{Sources{Environ: variable, Flags: map[string]string{"config": two}}, "two", two, "flag --config"},
		{Sources{Environ: variable, Flags: map[string]string{"config": ""}}, "", "", "flag --config"},
		{Sources{Environ: variable, File: two}, "two", two, "flag --config"},
		{Sources{Environ: variable, File: one}, "one", one, "environment HOLDFAST_CONFIG"},
	} {
		c := mustLoad(t, test.sources)
		if c.Name != test.name || c.File != test.file || c.origins["config"] != test.origin {
			t.Errorf("%+v: name %q, file %q from %s; want %q, %q from %s", test.sources, c.Name, c.File, c.origins["config"], test.name, test.file, test.origin)
		}
	}
}

// TestOverruled: what a stronger source replaces is not judged.
func TestOverruled(t *testing.T) {
	c := mustLoad(t, Sources{
		File:    write(t, "h.yaml", "lease: long\nlisten: nowhere\n"),
		Environ: []string{"HOLDFAST_LISTEN=127.0.0.1:1"},
		Flags:   map[string]string{"lease": "5s"},
	})
	if c.Lease != 5*time.Second || c.Listen != "127.0.0.1:1" {
		t.Errorf("lease %v, listen %s", c.Lease, c.Listen)
	}
}
