package api_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// TestDocuments compares with the letter of the formats.
func TestDocuments(t *testing.T) {
	j := api.NewJSON()
	at := api.Stamp(time.Date(2026, 11, 21, 19, 4, 5, 600, time.FixedZone("", 3600)))
	const big = uint64(17179869185)
	grant := &schema.Grant{
		Owner: "o", Session: "a-1", Member: "m", Client: "c", Mode: schema.Mode_MODE_SLOTS, Units: 2,
		Token: big, Since: at, Reason: "r",
	}
	for want, document := range map[string]proto.Message{
		`{"space":"default","name":"x","mode":"exclusive","units":0,"owner":"","token":"17179869185","since":"2026-11-21T18:04:05.000000600Z","until":"2026-11-21T18:04:05.000000600Z","ttl":"10s","expires_in":"9.5s","session":"a-1.s","class":"fenced"}`: &schema.Acquired{Space: "default", Name: "x", Token: big, Since: at, Until: at, Ttl: api.Span(10 * time.Second), ExpiresIn: api.Span(9500 * time.Millisecond), Session: "a-1.s", Class: schema.Class_CLASS_FENCED},
		`{"locks":[],"session":"a-1.s"}`:                                                             &schema.AcquiredAll{Session: "a-1.s"},
		`{"space":"default","name":"x","token":"17179869185","released":true}`:                       &schema.ReleasedLock{Space: "default", Name: "x", Token: big, Released: true},
		`{"session":"a-1","ttl":"1m0s","expires_in":"59s","until":"2026-11-21T18:04:05.000000600Z"}`: &schema.Renewed{Session: "a-1", Ttl: api.Span(time.Minute), ExpiresIn: api.Span(59 * time.Second), Until: at},
		`{"released":[]}`: &schema.SessionReleased{},
		`{"broken":[{"owner":"o","session":"a-1","member":"m","client":"c","mode":"slots","units":2,"token":"17179869185","since":"2026-11-21T18:04:05.000000600Z","reason":"r"}]}`: &schema.Broken{Broken: []*schema.Grant{grant}},
		`{"space":"default","name":"x","mode":"exclusive","units":0,"capacity":0,"holders":[],"waiters":[],"history":[]}`:                                                           &schema.Lock{Space: "default", Name: "x"},
		`{"locks":[],"next":""}`: &schema.LockPage{},
		`{"space":"s","shards":[{"shard":1,"leader":"","voters":["a"],"learners":[]}]}`: &schema.Shards{Space: "s", Shards: []*schema.Shard{{Shard: 1, Voters: []string{"a"}}}},
		`{"view":"8","replaced":"7","members":["a"],"reason":"fire","by":"ops","time":"2026-11-21T18:04:05.000000600Z"}`: &schema.ForcedView{
			View: 8, Replaced: 7, Members: []string{"a"}, Reason: "fire", By: "ops", Time: at,
		},
		`{"member":"a","started":"2026-11-21T18:04:05.000000600Z","view":"7","epoch":"3","coordinator":"b","places":[{"name":"b","address":"h:1","voter":true,"named":false,"alive":false}],"named":["a"],"rivals":["b"],"wait":"3.15s","spaces":[],"code":"0123abcd"}`: &schema.ForcePlan{
			Member: "a", Started: at, View: 7, Epoch: 3, Coordinator: "b", Places: []*schema.ForcedPlace{{Name: "b", Address: "h:1", Voter: true}},
			Named: []string{"a"}, Rivals: []string{"b"}, Wait: api.Span(3150 * time.Millisecond), Code: "0123abcd",
		},
		`{"owner":"","session":"a-1","member":"m","client":"c","mode":"shared","units":0,"since":"2026-11-21T18:04:05.000000600Z","position":0,"reason":""}`:                     &schema.Wait{Session: "a-1", Member: "m", Client: "c", Mode: schema.Mode_MODE_SHARED, Since: at},
		`{"owner":"o","session":"a-1","member":"m","client":"c","mode":"exclusive","units":0,"since":"2026-11-21T18:04:05.000000600Z","position":1,"reason":"","for":["b","c"]}`: &schema.Wait{Owner: "o", Session: "a-1", Member: "m", Client: "c", Since: at, Position: 1, For: []string{"b", "c"}},
		`{"version":"v1","cluster":"c","member":{"name":"a","id":"18446744073709551615","incarnation":"3","voter":true,"founder":true,"address":"h:1","http":"","since":"2026-11-21T18:04:05.000000600Z","state":"normal","election":"normal"},"view":{"number":"7","coordinator":"a","members":[],"why":""},"expected":3,"missing":[{"name":"b","address":"h:2","since":"2026-11-21T18:04:05.000000600Z"}],"spaces":[]}`: &schema.Status{
			Version: "v1", Cluster: "c", View: &schema.View{Number: 7, Coordinator: "a"},
			Expected: 3, Missing: []*schema.MissingMember{{Name: "b", Address: "h:2", Since: at}},
			Member: &schema.Member{Name: "a", Id: 1<<64 - 1, Incarnation: 3, Voter: true, Founder: true, Address: "h:1", Since: at, State: "normal", Election: "normal"},
		},
		`{"name":"default","protocol":"central","class":"fenced","partition":"primary","authority":[],"reign":"12","state":"ready","why":"","locks":1,"waiters":2,"sessions":3,"elder":"","version":"0","transfers":[],"closed":false}`: &schema.Space{
			Name: "default", Protocol: "central", Class: schema.Class_CLASS_FENCED, Partition: "primary", Reign: 12, State: "ready", Locks: 1, Waiters: 2, Sessions: 3,
		},
		`{"name":"g","protocol":"grantor","class":"fenced","partition":"primary","authority":["a"],"reign":"12","state":"ready","why":"","locks":0,"waiters":0,"sessions":0,"elder":"b","version":"2","transfers":[],"closed":false,"options":{"hold_on":"1m","placement":"10s"}}`: &schema.Space{
			Name: "g", Protocol: "grantor", Class: schema.Class_CLASS_FENCED, Partition: "primary", Authority: []string{"a"}, Reign: 12, State: "ready",
			Elder: "b", Version: 2, Options: map[string]string{"placement": "10s", "hold_on": "1m"},
		},
		`{"name":"p","protocol":"permission","class":"fenced","partition":"primary","authority":["a","b"],"reign":"12","state":"ready","why":"","locks":0,"waiters":0,"sessions":0,"elder":"","version":"0","transfers":[],"awaited":[{"member":"b","reply":"a","requests":3}],"closed":false,"options":{"capacity":"2","defer":"true","retain":"true"}}`: &schema.Space{
			Name: "p", Protocol: "permission", Class: schema.Class_CLASS_FENCED, Partition: "primary", Authority: []string{"a", "b"}, Reign: 12, State: "ready",
			Awaited: []*schema.Awaited{{Member: "b", Reply: "a", Requests: 3}}, Options: map[string]string{"capacity": "2", "defer": "true", "retain": "true"},
		},
		`{"name":"b","protocol":"bakery","class":"fenced","partition":"primary","authority":["a"],"reign":"12","state":"ready","why":"","locks":0,"waiters":0,"sessions":0,"elder":"","version":"7","transfers":[],"closed":false,"options":{"grace":"snaplock","messages":"published"},"candidates":[{"member":"a","priority":0,"eligible":false,"why":"leads"},{"member":"b","priority":14,"eligible":true,"why":"can be elected"}]}`: &schema.Space{
			Name: "b", Protocol: "bakery", Class: schema.Class_CLASS_FENCED, Partition: "primary", Authority: []string{"a"}, Reign: 12, Version: 7, State: "ready",
			Options:    map[string]string{"messages": "published", "grace": "snaplock"},
			Candidates: []*schema.Candidate{{Member: "a", Why: "leads"}, {Member: "b", Priority: 14, Eligible: true, Why: "can be elected"}},
		},
		`{"name":"c","protocol":"claim","class":"advisory","partition":"primary","authority":["a"],"reign":"0","state":"ready","why":"","locks":0,"waiters":0,"sessions":0,"elder":"","version":"0","transfers":[],"closed":false,"store":"redis://cache/0","settings":"cas"}`: &schema.Space{
			Name: "c", Protocol: "claim", Class: schema.Class_CLASS_ADVISORY, Partition: "primary", Authority: []string{"a"}, State: "ready", Store: "redis://cache/0", Settings: "cas",
		},
		`{"event":"lost","time":"2026-11-21T18:04:05.000000600Z","space":"default","name":"x","owner":"o","token":"17179869185","why":"hold_limit","member":"b"}`: &schema.WatchEvent{Event: "lost", Time: at, Space: "default", Name: "x", Owner: "o", Token: big, Why: "hold_limit", Member: "b"},
		`{"type":"about:blank","title":"Limit reached","status":429,"detail":"lock \"x\": limit sessions of 7 reached","code":"limit","space":"default","name":"x","limit":"sessions","value":7}`: api.NewProblem(
			&holdfast.Error{Op: "lock", Space: "default", Name: "x", Err: &holdfast.LimitError{Limit: "sessions", Value: 7}}),
	} {
		if got := string(j.Append(nil, document)); got != want {
			t.Errorf("%T:\n got %s\nwant %s", document, got, want)
			continue
		}
		back := document.ProtoReflect().New().Interface()
		if err := j.Read([]byte(want), back); err != nil {
			t.Errorf("%T: read back: %v", document, err)
			continue
		}
		if again := string(j.Append(nil, back)); again != want {
			t.Errorf("%T: read back and written: %s", document, again)
		}
	}
}

func TestBadValues(t *testing.T) {
	for text, into := range map[string]any{
		`"yesterday"`: new(api.Time), `7`: new(api.Time), `"2026-11-21"`: new(api.Time),
		`"10"`: new(api.Duration), `"ten seconds"`: new(api.Duration),
	} {
		if err := json.Unmarshal([]byte(text), into); err == nil {
			t.Errorf("%s was taken for a %T", text, into)
		}
	}
	j := api.NewJSON()
	for text, into := range map[string]proto.Message{
		`{"token":"-1"}`: &schema.Acquired{}, `{"token":17179869185}`: &schema.Acquired{}, `{"mode":"greedy"}`: &schema.Grant{},
		`{"since":"yesterday"}`: &schema.Grant{}, `{"since":7}`: &schema.Grant{}, `{"ttl":"ten seconds"}`: &schema.Acquired{}, `{"ttl":"10"}`: &schema.Acquired{},
		`{"holders":[null]}`: &schema.Lock{}, `{"holders":{}}`: &schema.Lock{}, `{"view":[]}`: &schema.Status{}, `{"options":{"a":1}}`: &schema.Space{},
		`{"closed":"yes"}`: &schema.Space{}, `{"locks":1.5}`: &schema.Space{}, `{"locks":4294967296}`: &schema.Space{}, `{"colour":1}`: &schema.Space{},
	} {
		if err := j.Read([]byte(text), into); err == nil {
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

// FuzzDocuments: a document that can be read can be written, and is read the same again. The first byte says which
// document it is.
func FuzzDocuments(f *testing.F) {
	j := api.NewJSON()
	for i, document := range documents() {
		f.Add(byte(i), j.Append(nil, document))
	}
	f.Add(byte(0), []byte(`{"space":"s","name":"n","mode":"slots","token":"9","holders":[{"since":"2026-11-21T18:04:05.6Z"}],"waiters":null}`))
	f.Add(byte(9), []byte(`{"member":{"id":"1","since":"2026-11-21T18:04:05.6Z"},"spaces":[{"locks":1,"options":{"a":"b"}}],"view":{"number":"3"}}`))
	f.Fuzz(func(t *testing.T, kind byte, data []byte) {
		all := documents()
		document := all[int(kind)%len(all)]
		again := document.ProtoReflect().New().Interface()
		if j.Read(data, document) != nil {
			return
		}
		first := j.Append(nil, document)
		if err := j.Read(first, again); err != nil {
			if strings.Contains(err.Error(), "token") {
				return // one that was left out cannot be written: 0 is none
			}
			t.Fatalf("read %s: %v", first, err)
		}
		if second := j.Append(nil, again); string(second) != string(first) {
			t.Fatalf("%s is written %s the second time", first, second)
		}
	})
}
