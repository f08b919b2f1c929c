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
		TLS:       TLS{ClientAuth: "require"},
		Limits:    Limits{TTL: 24 * time.Hour, Sessions: 100000, LocksPerSession: 100000, WaitersPerName: 10000, Names: 1000000, NameBytes: 512, MessageBytes: 4194304, Connections: 20000, Watchers: 1000, Requests: 100000},
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
		tls.cert tls.key tls.ca tls.client_ca tls.client_auth
		limits.ttl limits.sessions limits.locks_per_session limits.waiters_per_name limits.names limits.name_bytes limits.message_bytes
		limits.connections limits.watchers limits.requests limits.requests_per_second limits.requests_burst
		log.level log.format trace trace_size insecure config`)
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
		"name":                     {"a", "007", "c.d_e-f"},
		"listen":                   {"127.0.0.1:5000", "[::1]:5001,unix:///run/h.sock", "unix:///run/h.sock"},
		"socket_mode":              {"0660", "0777", "0600"},
		"hosts":                    {"a,b.example", "", "10.0.0.1"},
		"http":                     {"127.0.0.1:5000", "", "127.0.0.2:0"},
		"advertise":                {"host:1", "", "10.0.0.1:65535"},
		"join":                     {"127.0.0.1:1", "127.0.0.1:1,127.0.0.1:2", "127.0.0.1:3"},
		"expect":                   {"1", "", "1"},
		"state":                    {t.TempDir(), "none", ""},
		"data":                     {"", "", ""},
		"memory":                   {"true", "false", "true"},
		"priority":                 {"1", "off", "14"},
		"lease":                    {"2500ms", "4s", "1h"},
		"patience":                 {"1ms", "374ms", "20ms"},
		"drift":                    {"0.5", "1e-03", "0.1"},
		"tls.cert":                 {pem.cert, copied(t, pem.cert), copied(t, pem.cert)},
		"tls.key":                  {pem.key, copied(t, pem.key), copied(t, pem.key)},
		"tls.ca":                   {pem.cert, copied(t, pem.cert), copied(t, pem.cert)},
		"tls.client_ca":            {pem.cert, copied(t, pem.cert), copied(t, pem.cert)},
		"tls.client_auth":          {"verify", "none", "require"},
		"limits.ttl":               {"3s", "10m", "59m"},
		"limits.sessions":          {"1", "2", "3"},
		"limits.locks_per_session": {"1", "2", "2147483647"},
		"limits.waiters_per_name":  {"1", "2", "3"},
		"limits.names":             {"1", "2", "3"},
		"limits.name_bytes":        {"1", "2", "512"},
		"limits.connections":       {"1", "2", "3"},
		"limits.watchers":          {"1", "2", "1048576"},
		"limits.requests":          {"1", "2", "1073741824"},

		"limits.requests_per_second": {"1", "0", "2147483647"},
		"limits.requests_burst":      {"1", "0", "3"},
		"limits.message_bytes":       {"4096", "8192", "1073741824"},
		"log.level":                  {"debug", "warn", "error"},
		"log.format":                 {"json", "text", "json"},
		"trace":                      {"/tmp/a.txt", "b.txt", ""},
		"trace_size":                 {"65536", "65537", "1099511627776"},
		"insecure":                   {"true", "false", "true"},
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

// TestOptionsOfGrantors: the word on stands for a length of time, and one may be given.
func TestOptionsOfGrantors(t *testing.T) {
	for _, test := range []struct {
		options           string
		placement, holdOn time.Duration
	}{
		{"", 0, 0},
		{",placement=off,hold_on=off", 0, 0},
		{",placement=on", 10 * time.Second, 0},
		{",hold_on=on", 0, time.Minute},
		{",placement=1s,hold_on=1h", time.Second, time.Hour},
		{",hold_on=1s,placement=60m", time.Hour, time.Second},
	} {
		c := mustLoad(t, Sources{Flags: map[string]string{"spaces": "a=grantor" + test.options}})
		s := c.Spaces[1]
		if placement, holdOn := s.OptionDuration("placement"), s.OptionDuration("hold_on"); placement != test.placement || holdOn != test.holdOn {
			t.Errorf("grantor%s: placement %v and hold_on %v, want %v and %v", test.options, placement, holdOn, test.placement, test.holdOn)
		}
	}
	c := mustLoad(t, Sources{File: write(t, "h.yaml", "spaces:\n  a: {protocol: grantor, placement: on, hold_on: off}\n  b: {protocol: grantor, placement: 30s}\n")})
	for i, want := range []time.Duration{0, 10 * time.Second, 30 * time.Second} {
		if got := c.Spaces[i].OptionDuration("placement"); got != want {
			t.Errorf("space %s of the file has placement %v, want %v", c.Spaces[i].Name, got, want)
		}
	}
}

func TestOptionsOfBakery(t *testing.T) {
	for _, test := range []struct {
		options, file, messages, grace string
		length                         time.Duration
	}{
		{"", "{protocol: bakery}", "merged", "0", 0},
		{",messages=merged,grace=0,partition=primary", "{protocol: bakery, messages: merged, grace: 0, partition: primary}", "merged", "0", 0},
		{",messages=published,grace=snaplock", "{protocol: bakery, messages: published, grace: snaplock}", "published", "snaplock", 0},
		{",grace=90s,preempt=true", "{protocol: bakery, grace: 90s, preempt: true}", "merged", "90s", 90 * time.Second},
	} {
		for _, sources := range []Sources{
			{Flags: map[string]string{"spaces": "default=bakery" + test.options}},
			{File: write(t, "h.yaml", "spaces:\n  default: "+test.file+"\n")},
		} {
			s := mustLoad(t, sources).Spaces[0]
			if got := s.Option("messages"); got != test.messages {
				t.Errorf("%+v: messages is %s", sources, got)
			}
			if got := s.Option("grace"); got != test.grace {
				t.Errorf("%+v: grace is %s", sources, got)
			}
			if got := s.OptionDuration("grace"); got != test.length {
				t.Errorf("%+v: grace is as long as %v", sources, got)
			}
		}
	}
}

func TestOptionsOfPermission(t *testing.T) {
	for _, test := range []struct {
		options                   string
		deferred, retain, preempt bool
		capacity                  int
		file                      string
	}{
		{options: "", file: "{protocol: permission}"},
		{options: ",defer=false,retain=false,capacity=off,partition=primary", file: "{protocol: permission, defer: false, retain: false, capacity: off, partition: primary}"},
		{",defer=true,preempt=true", true, false, true, 0, "{protocol: permission, defer: true, preempt: true}"},
		{",retain=true", false, true, false, 0, "{protocol: permission, retain: true}"},
		{",capacity=1", false, false, false, 1, "{protocol: permission, capacity: 1}"},
		{",capacity=2147483647,defer=true", true, false, false, 2147483647, "{protocol: permission, defer: true, capacity: 2147483647}"},
	} {
		for _, sources := range []Sources{
			{Flags: map[string]string{"spaces": "default=permission" + test.options}},
			{File: write(t, "h.yaml", "spaces:\n  default: "+test.file+"\n")},
		} {
			s := mustLoad(t, sources).Spaces[0]
			if got := s.OptionSwitch("defer"); got != test.deferred {
				t.Errorf("%+v: defer is %v", sources, got)
			}
			if got := s.OptionSwitch("retain"); got != test.retain {
				t.Errorf("%+v: retain is %v", sources, got)
			}
			if got := s.OptionCount("capacity"); got != test.capacity {
				t.Errorf("%+v: capacity is %d", sources, got)
			}
			if got := s.OptionSwitch("preempt"); got != test.preempt {
				t.Errorf("%+v: preempt is %v", sources, got)
			}
		}
	}
	for _, other := range []string{"central", "grantor,placement=30s"} {
		s := mustLoad(t, Sources{Flags: map[string]string{"spaces": "a=" + other}}).Spaces[1]
		if s.OptionCount("capacity") != 0 || s.OptionCount("placement") != 0 || s.OptionSwitch("retain") {
			t.Errorf("%v has options of another protocol", s)
		}
	}
}

func TestOptionsOfConsensus(t *testing.T) {
	folder := t.TempDir()
	for _, test := range []struct {
		options, autopilot string
		length             time.Duration
		shards             int
	}{
		{"", "1h", time.Hour, 0},
		{",shards=4,autopilot=off", "off", 0, 4},
		{",autopilot=1s", "1s", time.Second, 0},
		{",autopilot=720h", "720h", 720 * time.Hour, 0},
	} {
		s := mustLoad(t, Sources{Flags: map[string]string{"spaces": "default=consensus" + test.options, "data": folder}}).Spaces[0]
		if got := s.Option("autopilot"); got != test.autopilot || s.OptionDuration("autopilot") != test.length || s.OptionCount("shards") != test.shards {
			t.Errorf("consensus%s: autopilot is %s, as long as %v, and shards %d", test.options, got, s.OptionDuration("autopilot"), s.OptionCount("shards"))
		}
	}
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
