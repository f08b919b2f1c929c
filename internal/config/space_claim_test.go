package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-locks/holdfast/protocol/claim"
)

// TestOptionsOfClaim: on the command line a URL goes on until the next option; in the file it stands for
// itself.
func TestOptionsOfClaim(t *testing.T) {
	for _, test := range []struct {
		options, file, store string
		claims               claim.Options
	}{
		{"store=redis://cache/0", "store: redis://cache/0", "redis://cache/0", claim.Options{}},
		{"store=etcd://a,b:2379,c/locks?timeout=2s,wait=200ms", "store: 'etcd://a,b:2379,c/locks?timeout=2s', wait: 200ms", "etcd://a,b:2379,c/locks?timeout=2s",
			claim.Options{Wait: 200 * time.Millisecond}},
		{"expiry=1m,store=cassandra://u:p,w@a,b/k?dc=x,cas,rid=me", "expiry: 1m, store: 'cassandra://u:p,w@a,b/k?dc=x', cas: true, rid: me", "cassandra://u:p,w@a,b/k?dc=x",
			claim.Options{Expiry: time.Minute, CAS: true, RID: "me"}},
		{"store=postgres://h/d?options=-c%20a=b, retries=5 ,skew=20ms,unit=ms,group=g,clock=store,cleaner", "store: 'postgres://h/d?options=-c%20a=b', retries: 5, skew: 20ms, unit: ms, group: g, clock: store, cleaner: true", "postgres://h/d?options=-c%20a=b",
			claim.Options{Unit: claim.Milli, Retries: 5, Skew: 20 * time.Millisecond, Group: "g", StoreClock: true, Cleaner: true}},
		{"cas=false,cleaner=false,clock=machine,unit=ns,store=pebble:///a=b,preempt=false", "cas: false, cleaner: false, clock: machine, unit: ns, store: 'pebble:///a=b', preempt: false", "pebble:///a=b",
			claim.Options{Unit: claim.Nano}},
		{"store=etcd://cas:1,cleaner:2,cas", "store: 'etcd://cas:1,cleaner:2', cas: true", "etcd://cas:1,cleaner:2", claim.Options{CAS: true}},
		{"store=redis://h,cas,hold_on=on", "store: 'redis://h', cas: true, hold_on: on", "redis://h", claim.Options{CAS: true, HoldOn: 10 * time.Millisecond}},
		{"store=redis://h,hold_on=250ms,cas", "store: 'redis://h', cas: true, hold_on: 250ms", "redis://h", claim.Options{CAS: true, HoldOn: 250 * time.Millisecond}},
		{"store=redis://h,hold_on=off,cas", "store: 'redis://h', cas: true, hold_on: off", "redis://h", claim.Options{CAS: true}},
	} {
		for _, sources := range []Sources{
			{Flags: map[string]string{"spaces": "default=claim," + test.options}},
			{Environ: []string{"HOLDFAST_SPACES=default=claim," + test.options + ";"}},
			{File: write(t, "h.yaml", "spaces:\n  default: {protocol: claim, "+test.file+"}\n")},
		} {
			s := mustLoad(t, sources).Spaces[0]
			if s.Store() != test.store {
				t.Errorf("%s: the store is %q, want %q", test.options, s.Store(), test.store)
			}
			if diff := cmp.Diff(&test.claims, typed(t, s)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.options, diff)
			}
		}
	}
	if s := mustLoad(t, Sources{}).Spaces[0]; s.Store() != "" {
		t.Errorf("a space of central has the store %q", s.Store())
	}
}

func TestClaimRefused(t *testing.T) {
	const store = "a=claim,store=redis://h"
	for _, test := range []struct{ value, parts string }{
		{"a=claim", "there is no option store|give store=URL, as in store=postgres://HOST/DATABASE"},
		{"a=claim,wait=1s", "there is no option store"},
		{"a=claim,store=", `option store cannot be "xxxxx": it is no URL; allowed: cassandra://…, etcd://…`},
		{"a=claim,store=mysql://h", "no store has this scheme|cassandra://…|use one of cassandra, etcd, etcds, folder, pebble"},
		{"a=claim,store=rediss//h", "it is no URL"},
		{"a=claim,store=memory://", "gone when it ends|use folder:///FOLDER"},
		{"a=claim,store=postgress://h", "did you mean postgres?"},
		{"a=claim,store=etcd://h,wiat=1s", `behind a comma it has "wiat="|did you mean wait?`},
		{"a=claim,store=pebble:///x,y=z", `behind a comma it has "y="|write %2C for a comma`},
		{store + ",store=redis://h", "given twice"},
		{store + ",wait=100us", `option wait cannot be "100us": it is too short; allowed: 1ms to 1m; give 1ms or more`},
		{store + ",wait=soon", `option wait cannot be "soon"; allowed: 1ms to 1m; leave it out for 100ms`},
		{store + ",wait=", `option wait cannot be ""`},
		{store + ",expiry=25h", "it is too long|10ms to 24h"},
		{store + ",expiry=5", `option expiry cannot be "5"|leave it out for 30s`},
		{store + ",retries=0", "1 to 100"},
		{store + ",retries=many", "1 to 100; leave it out for 3"},
		{store + ",skew=1ns", "it is too short"},
		{store + ",unit=s", `option unit cannot be "s"; allowed: us, ms, ns`},
		{store + ",rid=", "it is empty"},
		{store + ",rid=" + strings.Repeat("x", 129), "it is too long"},
		{store + ",group=a\x01b", "a control character"},
		{store + ",cas=on", "allowed: false, true; leave it out for false"},
		{store + ",clock=mine", "allowed: machine, store"},
		{store + ",partition=any", "the store decides, which has no sides|allowed: primary"},
		{store + ",placement=on,wait=1s", `it has "placement="`},
		{"a=claim,placement=on,store=redis://h", `protocol claim has no option "placement"; allowed: ` + allowed("claim")},
		{store + ",cas,hold_on=1m", `option hold_on cannot be "1m": it is too long; allowed: off, on, 1ms to 1s; give 1s or less`},
		{store + ",cas,hold_on=100us", `option hold_on cannot be "100us": it is too short; allowed: off, on, 1ms to 1s; give 1ms or more`},
		{store + ",cas,hold_on", `option "hold_on" has no value`},
		{"a=central,store=redis://h", `protocol central has no option "store"`},
		{"a=central,cas", `option "cas" has no value`},
		// Contradictions.
		{store + ",wait=20s", ""},
		{store + ",wait=1s,expiry=2s", "a claim could expire while it is written|raise expiry to"},
		{store + ",wait=100ms,skew=100ms", "skew is 100ms with wait 100ms|raise wait to 201ms"},
		{store + ",cas,cleaner", "there are no claims to clean; leave cleaner out"},
		{store + ",cas,clock=store", "leave clock out"},
		{store + ",hold_on=on", "hold_on is 10ms and cas is off, and a claim that was released cannot be kept; turn cas on, or leave hold_on out"},
		{store + ",cas,expiry=5s,hold_on=600ms", "hold_on is 600ms with expiry 5s|raise expiry to 6s at least, or lower hold_on"},
		{store + ",cas,expiry=5s,hold_on=500ms", ""},
		{store + ",group=g;b=claim,store=redis://h,group=g", "space a has the same store and the same group|write group=b"},
		{store + ";b=claim,store=redis://h", ""},
	} {
		t.Run(test.value, func(t *testing.T) {
			sources := Sources{Flags: map[string]string{"spaces": test.value}}
			if test.parts == "" {
				mustLoad(t, sources)
				return
			}
			found := problems(t, sources)
			if len(found) != 1 {
				t.Fatalf("%d problems, want one: %v", len(found), found)
			}
			for part := range strings.SplitSeq(test.parts, "|") {
				if !strings.Contains(found[0].String(), part) {
					t.Errorf("%s\nhas no %q", found[0], part)
				}
			}
		})
	}
}

// TestStoreOfOneProcess: members of a cluster cannot share what is one process's, or one machine's.
func TestStoreOfOneProcess(t *testing.T) {
	for url, whose := range map[string]string{
		"pebble:///var/lib/locks": "one process's", "Pebble:///var/lib/locks": "one process's",
		"folder:///var/lib/locks": "a folder of one machine", "/var/lib/locks": "a folder of one machine",
	} {
		alone := Sources{Flags: map[string]string{"spaces": "a=claim,store=" + url}}
		mustLoad(t, alone)
		alone.Flags["join"] = "127.0.0.1:4141"
		found := problems(t, alone)
		if len(found) != 1 || !strings.Contains(found[0].String(), "its store is "+whose) {
			t.Errorf("%s in a cluster: %v", url, found)
		}
	}
}

// TestPasswordsAreNotShown: in every place where a URL with a password is written, right or
// wrong, neither complaints nor the printed configuration have it.
func TestPasswordsAreNotShown(t *testing.T) {
	const secret = "s3cr,q=vwy"
	url := "redis://u:" + secret + "@h/0"
	for _, spaces := range []string{
		"a=claim,store=" + url, "a=claim,store=" + url + "?password=" + secret, "a=claim,store=" + url + ",wait=soon", "a=claim,stor=" + url, "a=central,store=" + url,
		"a=claim,wait=" + url, "a=claim,store=redis:/u:" + secret + "@h", "a=claim,store=mysql://u:" + secret + "@h", "a=claim,wait,store=" + url,
		"a=claim,store=" + url + ",store=" + url, "a=claim,store=" + url + ";a=claim,store=" + url, "store=" + url, url, "a/b=claim,store=" + url,
		"a=claim," + url, "a=claim,store=" + url + ",expiry=10ms", "a=consensus,store=" + url,
	} {
		c, err := Load(Sources{Flags: map[string]string{"spaces": spaces}})
		text := ""
		if err != nil {
			text = err.Error()
		} else {
			text = printed(t, c)
			if !strings.Contains(text, `store: "redis://u:xxxxx@h/0`) {
				t.Errorf("the print has no URL:\n%s", text)
			}
		}
		if strings.Contains(text, "s3cr") || strings.Contains(text, "vwy") {
			t.Errorf("%s: the password is in\n%s", spaces, text)
		}
	}
	for _, file := range []string{
		"{protocol: claim, store: '" + url + "', store: '" + url + "'}", "{protocol: claim, store: '" + url + "', wait: soon}", "'" + url + "'",
		"{protocol: claim, stor: '" + url + "'}", "{protocol: '" + url + "'}",
	} {
		_, err := Load(Sources{File: write(t, "h.yaml", "spaces:\n  a: "+file+"\n")})
		if err == nil {
			t.Errorf("%s is not refused", file)
		} else if strings.Contains(err.Error(), "s3cr") {
			t.Errorf("%s: the password is in\n%v", file, err)
		}
	}
}
