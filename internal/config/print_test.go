package config

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func printed(t testing.TB, c *Config) string {
	t.Helper()
	var b strings.Builder
	if err := c.PrintConfig(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPrintConfig(t *testing.T) {
	path := write(t, "h.yaml", "lease: 2500ms\nspaces:\n  b: {protocol: central, partition: any}")
	c := mustLoad(t, Sources{
		File:    path,
		Environ: []string{"HOLDFAST_HTTP=", "HOLDFAST_LIMITS_TTL=90s"},
		Flags:   map[string]string{"listen": "127.0.0.1:0", "name": "007"},
	})
	want := `name: "007"    # flag --name
listen: 127.0.0.1:0    # flag --listen
socket_mode: "0600"    # default
http: ""    # environment HOLDFAST_HTTP
hosts: []    # default
advertise: ""    # default
join: []    # default
# expect: not given    # default
state: ""    # default
data: ""    # default
memory: true    # default with partition any of space b
priority: 8    # default
lease: 2.5s    # file PATH line 1
patience: 250ms    # default
drift: 0.05    # default
spaces:
  default: {protocol: central, partition: any}    # default
  b: {protocol: central, partition: any}    # file PATH line 3
tls:
  cert: ""    # default
  key: ""    # default
  ca: ""    # default
  client_ca: ""    # default
  client_auth: require    # default
  members: []    # default
  min_version: "1.3"    # default
access: ""    # default
tokens: ""    # default
audit: ""    # default
audit_locks: false    # default
audit_optional: false    # default
limits:
  ttl: 1m30s    # environment HOLDFAST_LIMITS_TTL
  sessions: 100000    # default
  locks_per_session: 100000    # default
  waiters_per_name: 10000    # default
  names: 1000000    # default
  name_bytes: 512    # default
  value_bytes: 4096    # default
  message_bytes: 4194304    # default
  connections: 20000    # default
  connections_per_address: 0    # default
  watchers: 1000    # default
  requests: 100000    # default
  requests_per_second: 0    # default
  requests_burst: 0    # default
log:
  level: info    # default
  format: text    # default
trace: ""    # default
trace_size: 1073741824    # default
insecure: false    # default
insecure_files: false    # default
# --config: PATH    # flag --config
`
	got := printed(t, c)
	if diff := cmp.Diff(strings.ReplaceAll(want, "PATH", path), got); diff != "" {
		t.Errorf("print (-want +got):\n%s", diff)
	}
	again(t, c, got)
}

// again loads what was printed.
func again(t testing.TB, c *Config, text string) {
	t.Helper()
	read, err := Load(Sources{File: write(t, "printed.yaml", text)})
	if err != nil {
		t.Fatalf("the print cannot be loaded: %v\n%s", err, text)
	}
	meant := *c // what was printed has no passwords
	meant.Spaces = slices.Clone(c.Spaces)
	for i := range meant.Spaces {
		s := &meant.Spaces[i]
		*s = s.clone()
		if url := s.Store(); url != "" {
			s.Options[storeOption] = redacted(storeOption, url)
		}
	}
	if diff := cmp.Diff(&meant, read, cmpopts.IgnoreUnexported(Config{}), cmpopts.IgnoreFields(Config{}, "File"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("print and load (-printed +loaded):\n%s\n%s", diff, text)
	}
}

func TestPrintRoundTrip(t *testing.T) {
	pem := material(t)
	for _, flags := range []map[string]string{
		{},
		{"name": "null"}, {"name": "true"}, {"name": "1e3"}, {"name": "-"}, {"name": "0x10"}, {"name": "2001-01-01"},
		{"listen": "[::1]:4040", "http": "[::]:0", "insecure": "true", "expect": "1", "priority": "off"},
		{"state": "/no such/“folder”: #1\u2028\ufeff", "drift": "0.0000001"},
		{"state": "~"}, {"state": "none"}, {"memory": "true"}, {"listen": "127.0.0.1:0"}, {"state": "a, b]}"}, {"state": "'"}, {"state": `\"`},
		{"spaces": "default=central,partition=any,preempt=true;0=central,partition=any,preempt=true;null=central,preempt=true,partition=any"},
		{"spaces": "null=central;1.5=central,partition=primary;-=central,preempt=false"},
		{"spaces": "a=grantor,placement=on,hold_on=off;b=grantor,placement=90s,hold_on=1m30s"},
		{"spaces": "default=permission,capacity=2,defer=true;a=permission,retain=true;b=permission,capacity=off"},
		{"spaces": "default=bakery,messages=published,grace=snaplock;a=bakery,grace=1m30s;b=bakery,grace=0,messages=merged"},
		{"spaces": "default=claim,store=etcd://u:p@a,b:1/x,wait=1s,cas;b=claim,store=cassandra://a,b/k?dc=d%2Ce,expiry=1h,unit=ns,clock=store,cleaner=false,rid=“#@h,group=: {"},
		{"join": "LOCALHOST:04041,127.0.0.1:4040,[::FFFF:127.0.0.1]:4042", "expect": "3"},
		{"join": "[fe80::1%25eth0]:1,lock-0.Example.:4040", "listen": "[fe80::2%25eth0]:1", "insecure": "true"},
		{"listen": ":1", "tls.cert": pem.cert, "tls.key": pem.key, "tls.ca": pem.cert, "tls.client_auth": "verify"},
		{"listen": "unix:///run/h.sock", "socket_mode": "666"}, {"listen": "127.0.0.1:0, unix:///run/h.sock", "hosts": "a.example, 10.0.0.1"},
		{"lease": "1h", "limits.ttl": "1h", "patience": "1m0.000000001s"},
		{"lease": "59m59.9s", "log.level": "debug", "log.format": "json"},
	} {
		c := mustLoad(t, Sources{Flags: flags})
		again(t, c, printed(t, c))
	}
}

// TestPrintJoin: a Config that Load did not make can be printed too.
func TestPrintJoin(t *testing.T) {
	got := printed(t, &Config{Join: []string{"10.0.0.1:1", "[::1]:2"}})
	if want := "join: [10.0.0.1:1, \"[::1]:2\"]    # default\n"; !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant a line %s", got, want)
	}
}

type brokenWriter struct{}

var errBroken = errors.New("broken")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestPrintError(t *testing.T) {
	if err := mustLoad(t, Sources{}).PrintConfig(brokenWriter{}); !errors.Is(err, errBroken) {
		t.Errorf("got %v, want the writer's error", err)
	}
}
