package api_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// TestDocuments compares with the letter of the formats.
func TestDocuments(t *testing.T) {
	at := api.At(time.Date(2026, 11, 21, 19, 4, 5, 600, time.FixedZone("", 3600)))
	const big = holdfast.Token(17179869185)
	grant := api.Grant{
		Owner: "o", Session: "a-1", Member: "m", Client: "c", Mode: holdfast.ModeSlots, Units: 2,
		Token: big, Since: at, Reason: "r",
	}
	for want, document := range map[string]any{
		`{"space":"default","name":"x","mode":"exclusive","units":0,"owner":"","token":"17179869185","since":"2026-11-21T18:04:05.000000600Z","until":"2026-11-21T18:04:05.000000600Z","ttl":"10s","session":"a-1.s","class":"fenced"}`: api.Acquired{Space: "default", Name: "x", Token: big, Since: at, Until: at, TTL: api.Duration(10 * time.Second), Session: "a-1.s", Class: holdfast.Fenced},
		`{"locks":[],"session":"a-1.s"}`:                                          api.AcquiredAll{Session: "a-1.s"},
		`{"space":"default","name":"x","token":"17179869185","released":true}`:    api.Released{Space: "default", Name: "x", Token: big, Released: true},
		`{"session":"a-1","ttl":"1m0s","until":"2026-11-21T18:04:05.000000600Z"}`: api.Renewed{Session: "a-1", TTL: api.Duration(time.Minute), Until: at},
		`{"released":[]}`: api.SessionReleased{},
		`{"broken":[{"owner":"o","session":"a-1","member":"m","client":"c","mode":"slots","units":2,"token":"17179869185","since":"2026-11-21T18:04:05.000000600Z","reason":"r"}]}`: api.Broken{Broken: []api.Grant{grant}},
		`{"space":"default","name":"x","mode":"exclusive","units":0,"capacity":0,"holders":[],"waiters":[],"history":[]}`:                                                           api.Lock{Space: "default", Name: "x"},
		`{"locks":[],"next":""}`: api.Locks{},
		`{"space":"s","shards":[{"shard":1,"leader":"","voters":["a"],"learners":[]}]}`: api.Shards{Space: "s", Shards: []api.Shard{{Shard: 1, Voters: []string{"a"}}}},
		`{"view":"8","replaced":"7","members":["a"],"reason":"fire","by":"ops","time":"2026-11-21T18:04:05.000000600Z"}`: api.ForcedView{
			View: 8, Replaced: 7, Members: []string{"a"}, Reason: "fire", By: "ops", Time: at,
		},
		`{"member":"a","started":"2026-11-21T18:04:05.000000600Z","view":"7","epoch":"3","coordinator":"b","places":[{"name":"b","address":"h:1","voter":true,"named":false,"alive":false}],"named":["a"],"rivals":["b"],"wait":"3.15s","spaces":[],"code":"0123abcd"}`: api.ForcePlan{
			Member: "a", Started: at, View: 7, Epoch: 3, Coordinator: "b", Places: []api.ForcedPlace{{Name: "b", Address: "h:1", Voter: true}},
			Named: []string{"a"}, Rivals: []string{"b"}, Wait: api.Duration(3150 * time.Millisecond), Code: "0123abcd",
		},
		`{"owner":"","session":"a-1","member":"m","client":"c","mode":"shared","units":0,"since":"2026-11-21T18:04:05.000000600Z","position":0,"reason":""}`:                     api.Wait{Session: "a-1", Member: "m", Client: "c", Mode: holdfast.ModeShared, Since: at},
		`{"owner":"o","session":"a-1","member":"m","client":"c","mode":"exclusive","units":0,"since":"2026-11-21T18:04:05.000000600Z","position":1,"reason":"","for":["b","c"]}`: api.Wait{Owner: "o", Session: "a-1", Member: "m", Client: "c", Since: at, Position: 1, For: []string{"b", "c"}},
		`{"version":"v1","cluster":"c","member":{"name":"a","id":"18446744073709551615","incarnation":"3","voter":true,"founder":true,"address":"h:1","http":"","since":"2026-11-21T18:04:05.000000600Z","state":"normal","election":"normal"},"view":{"number":"7","coordinator":"a","members":[],"why":""},"expected":3,"missing":[{"name":"b","address":"h:2","since":"2026-11-21T18:04:05.000000600Z"}],"spaces":[]}`: api.Status{
			Version: "v1", Cluster: "c", View: api.View{Number: 7, Coordinator: "a"},
			Expected: 3, Missing: api.List[api.MissingMember]{{Name: "b", Address: "h:2", Since: at}},
			Member: api.Member{Name: "a", ID: 1<<64 - 1, Incarnation: 3, Voter: true, Founder: true, Address: "h:1", Since: at, State: "normal", Election: "normal"},
		},
		`{"name":"default","protocol":"central","class":"fenced","partition":"primary","authority":[],"reign":"12","state":"ready","why":"","locks":1,"waiters":2,"sessions":3,"elder":"","version":"0","transfers":[],"closed":false}`: api.Space{
			Name: "default", Protocol: "central", Class: holdfast.Fenced, Partition: "primary", Reign: 12, State: "ready", Locks: 1, Waiters: 2, Sessions: 3,
		},
		`{"name":"g","protocol":"grantor","class":"fenced","partition":"primary","authority":["a"],"reign":"12","state":"ready","why":"","locks":0,"waiters":0,"sessions":0,"elder":"b","version":"2","transfers":[],"closed":false,"options":{"hold_on":"1m","placement":"10s"}}`: api.Space{
			Name: "g", Protocol: "grantor", Class: holdfast.Fenced, Partition: "primary", Authority: []string{"a"}, Reign: 12, State: "ready",
			Elder: "b", Version: 2, Options: map[string]string{"placement": "10s", "hold_on": "1m"},
		},
		`{"name":"p","protocol":"permission","class":"fenced","partition":"primary","authority":["a","b"],"reign":"12","state":"ready","why":"","locks":0,"waiters":0,"sessions":0,"elder":"","version":"0","transfers":[],"awaited":[{"member":"b","reply":"a","requests":3}],"closed":false,"options":{"capacity":"2","defer":"true","retain":"true"}}`: api.Space{
			Name: "p", Protocol: "permission", Class: holdfast.Fenced, Partition: "primary", Authority: []string{"a", "b"}, Reign: 12, State: "ready",
			Awaited: []api.Awaited{{Member: "b", Reply: "a", Requests: 3}}, Options: map[string]string{"capacity": "2", "defer": "true", "retain": "true"},
		},
		`{"name":"b","protocol":"bakery","class":"fenced","partition":"primary","authority":["a"],"reign":"12","state":"ready","why":"","locks":0,"waiters":0,"sessions":0,"elder":"","version":"7","transfers":[],"closed":false,"options":{"grace":"snaplock","messages":"published"},"candidates":[{"member":"a","priority":0,"eligible":false,"why":"leads"},{"member":"b","priority":14,"eligible":true,"why":"can be elected"}]}`: api.Space{
			Name: "b", Protocol: "bakery", Class: holdfast.Fenced, Partition: "primary", Authority: []string{"a"}, Reign: 12, Version: 7, State: "ready",
			Options:    map[string]string{"messages": "published", "grace": "snaplock"},
			Candidates: []api.Candidate{{Member: "a", Why: "leads"}, {Member: "b", Priority: 14, Eligible: true, Why: "can be elected"}},
		},
		`{"name":"c","protocol":"claim","class":"advisory","partition":"primary","authority":["a"],"reign":"0","state":"ready","why":"","locks":0,"waiters":0,"sessions":0,"elder":"","version":"0","transfers":[],"closed":false,"store":"redis://cache/0","settings":"cas"}`: api.Space{
			Name: "c", Protocol: "claim", Class: holdfast.Advisory, Partition: "primary", Authority: []string{"a"}, State: "ready", Store: "redis://cache/0", Settings: "cas",
		},
		`{"event":"lost","time":"2026-11-21T18:04:05.000000600Z","space":"default","name":"x","owner":"o","token":"17179869185","why":"hold_limit","member":"b"}`: api.Event{Event: "lost", Time: at, Space: "default", Name: "x", Owner: "o", Token: big, Why: "hold_limit", Member: "b"},
		`{"type":"about:blank","title":"Limit reached","status":429,"detail":"lock \"x\": limit sessions of 7 reached","code":"limit","space":"default","name":"x","limit":"sessions","value":7}`: api.NewProblem(
			&holdfast.Error{Op: "lock", Space: "default", Name: "x", Err: &holdfast.LimitError{Limit: "sessions", Value: 7}}),
	} {
		got, err := json.Marshal(document)
		if err != nil || string(got) != want {
			t.Errorf("%T:\n got %s, %v\nwant %s", document, got, err, want)
			continue
		}
		back := reflect.New(reflect.TypeOf(document))
		if err := json.Unmarshal(got, back.Interface()); err != nil {
			t.Errorf("%T: read back: %v", document, err)
			continue
		}
		if again, err := json.Marshal(back.Interface()); err != nil || string(again) != want {
			t.Errorf("%T: read back and written: %s, %v", document, again, err)
		}
	}
}

func TestBadValues(t *testing.T) {
	for text, into := range map[string]any{
		`"yesterday"`: new(api.Time), `7`: new(api.Time), `"2026-11-21"`: new(api.Time),
		`"10"`: new(api.Duration), `"ten seconds"`: new(api.Duration),
		`{"token":"-1"}`: new(api.Acquired), `{"token":17179869185}`: new(api.Acquired), `{"mode":"greedy"}`: new(api.Grant),
	} {
		if err := json.Unmarshal([]byte(text), into); err == nil {
			t.Errorf("%s was taken for a %T", text, into)
		}
	}
	var none api.Time
	if err := json.Unmarshal([]byte(`""`), &none); err != nil || !none.IsZero() || none.Nanoseconds() != 0 || none.String() != "" {
		t.Errorf("no time: %v, %v", none, err)
	}
}

func TestModesAndClasses(t *testing.T) {
	for mode := range holdfast.Mode(3) {
		if got, err := api.FromMode(api.ToMode(mode)); err != nil || got != mode || !strings.HasSuffix(api.ToMode(mode).String(), strings.ToUpper(mode.String())) {
			t.Errorf("mode %v became %v, %v by %v", mode, got, err, api.ToMode(mode))
		}
	}
	for class := range holdfast.Class(3) {
		if got, err := api.FromClass(api.ToClass(class)); err != nil || got != class || !strings.HasSuffix(api.ToClass(class).String(), strings.ToUpper(class.String())) {
			t.Errorf("class %v became %v, %v by %v", class, got, err, api.ToClass(class))
		}
	}
	for _, bad := range []int32{-1, 3, 1 << 30} {
		if _, err := api.FromMode(schema.Mode(bad)); api.Code(err) != api.CodeBadRequest {
			t.Errorf("mode %d: %v", bad, err)
		}
		if _, err := api.FromClass(schema.Class(bad)); api.Code(err) != api.CodeBadRequest {
			t.Errorf("class %d: %v", bad, err)
		}
	}
}

func TestAcquiredOverPort4040(t *testing.T) {
	want := api.Acquired{
		Space: "s", Name: "n", Mode: holdfast.ModeSlots, Units: 2, Owner: "o", Token: 9, Since: api.AtNanoseconds(5),
		TTL: api.Duration(time.Second), Session: "a-1.s", Class: holdfast.Available,
	}
	got, err := api.FromAcquired(api.ToAcquired(want))
	if err != nil || got != want {
		t.Errorf("%+v became %+v, %v", want, got, err)
	}
	if _, err := api.FromAcquired(&schema.Acquired{Class: 9}); err == nil {
		t.Error("class 9 was taken")
	}
	if _, err := api.FromAcquired(&schema.Acquired{Mode: 9}); err == nil {
		t.Error("mode 9 was taken")
	}
}

func TestTarget(t *testing.T) {
	for target, want := range map[string]string{
		"holdfast://localhost:4040":          "localhost:4040",
		"holdfast://localhost/":              "localhost:4040",
		"holdfast://a:1,b,10.0.0.3:65535":    "a:1 b:4040 10.0.0.3:65535",
		" 127.0.0.1 ":                        "127.0.0.1:4040",
		"db-1.example:04041":                 "db-1.example:4041",
		"[::1]:9":                            "[::1]:9",
		"::1":                                "[::1]:4040",
		"[fe80::1%eth0]":                     "[fe80::1%eth0]:4040",
		"unix:///run/holdfast/socket,really": "unix:///run/holdfast/socket,really",
	} {
		addresses, err := api.ParseTarget(target)
		var got []string
		for _, address := range addresses {
			got = append(got, address.String())
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %q, %v; want %q", target, got, err, want)
		}
	}
	for _, target := range []string{
		"", ",", "a,,b", "holdfast://", "http://a:1", "unix://socket", "unix:///a\x00", "a:0", "a:65536", "a:x", "a:-1", ":4040", "a b:1", "a:1:2", "a/b:1", "[::1", "ö:1",
	} {
		addresses, err := api.ParseTarget(target)
		var failure *api.Failure
		if !errors.As(err, &failure) || !strings.Contains(err.Error(), "HOST:PORT") || !strings.Contains(err.Error(), "server ") {
			t.Errorf("%q: %v, %v; want an error with the value and the forms", target, addresses, err)
		}
	}
}

// FuzzParseTarget: what is accepted can be dialled, and is read the same again.
func FuzzParseTarget(f *testing.F) {
	for _, target := range []string{"holdfast://a:1,b", "[::1]:9", "::1", "unix:///x", "[fe80::1%eth0]"} {
		f.Add(target)
	}
	f.Fuzz(func(t *testing.T, target string) {
		addresses, err := api.ParseTarget(target)
		if (err == nil) != (len(addresses) > 0) {
			t.Fatalf("%q: %v, %v", target, addresses, err)
		}
		for _, address := range addresses {
			again, err := api.ParseTarget(address.String())
			if address.Network == "unix" && strings.TrimSpace(address.Place) != address.Place {
				continue
			}
			if err != nil || len(again) != 1 || again[0] != address {
				t.Fatalf("%q: %v is read as %v, %v", target, address, again, err)
			}
		}
	})
}

// FuzzDocuments: a document that can be read can be written, is read the same again, and
// has no null that it did not have. The first byte says which document it is.
func FuzzDocuments(f *testing.F) {
	kinds := []func() any{
		func() any { return new(api.Lock) }, func() any { return new(api.Locks) }, func() any { return new(api.Acquired) },
		func() any { return new(api.AcquiredAll) }, func() any { return new(api.Released) }, func() any { return new(api.Renewed) },
		func() any { return new(api.SessionReleased) }, func() any { return new(api.Broken) }, func() any { return new(api.Suspended) },
		func() any { return new(api.Status) }, func() any { return new(api.Event) }, func() any { return new(api.Problem) },
		func() any { return new(api.ForcePlan) }, func() any { return new(api.ForcedView) },
		func() any { return new(api.Transferred) }, func() any { return new(api.Opened) }, func() any { return new(api.Shards) },
	}
	for i, fresh := range kinds {
		empty, err := json.Marshal(fresh())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(byte(i), empty)
	}
	f.Add(byte(0), []byte(`{"space":"s","name":"n","mode":"slots","token":"9","holders":[{"since":"2026-11-21T18:04:05.6Z"}],"waiters":null}`))
	f.Add(byte(9), []byte(`{"members":[{"id":"1","since":"2026-11-21T18:04:05.6Z"}],"spaces":[{"locks":1}],"view":{"number":"3"}}`))
	f.Fuzz(func(t *testing.T, kind byte, data []byte) {
		fresh := kinds[int(kind)%len(kinds)]
		document, again := fresh(), fresh()
		if json.Unmarshal(data, document) != nil {
			return
		}
		first, err := json.Marshal(document)
		if err != nil {
			t.Fatalf("write %+v: %v", document, err)
		}
		if strings.Contains(string(first), ":null") && !strings.Contains(string(data), "null") {
			t.Fatalf("null in %s", first)
		}
		if err := json.Unmarshal(first, again); err != nil {
			if strings.Contains(err.Error(), "token") {
				return // one that was left out cannot be written: 0 is none
			}
			t.Fatalf("read %s: %v", first, err)
		}
		if second, err := json.Marshal(again); err != nil || string(second) != string(first) {
			t.Fatalf("%s is written %s the second time (%v)", first, second, err)
		}
	})
}
