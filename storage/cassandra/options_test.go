package cassandra

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/holdfast-locks/holdfast/storage"
)

// TestURL: what a URL sets, and the defaults of what it does not.
func TestURL(t *testing.T) {
	for text, want := range map[string]options{
		"cassandra://h/k": {hosts: []string{"h"}, keyspace: "k", table: "locks", timeout: 6 * time.Second},
		"cassandra://h:1,[::1]:2,h3/k_1?dc=dc1&consistency=local_quorum&table=t&retries=2&timeout=1500ms&gc_grace=2h": {
			hosts: []string{"h:1", "[::1]:2", "h3"}, keyspace: "k_1", table: "t", local: true, center: "dc1", grace: 2 * time.Hour, timeout: 1500 * time.Millisecond, retries: 2,
		},
		"cassandra://a%40b:c%3A%2Fd@h/k?tls=true&ca=/x&cert=/y&key=/z&server_name=n&consistency=quorum": {
			hosts: []string{"h"}, user: "a@b", password: "c:/d", keyspace: "k", table: "locks", timeout: 6 * time.Second, tls: true, ca: "/x", cert: "/y", key: "/z", server: "n",
		},
		"cassandra://h/k?replication=2":            {hosts: []string{"h"}, keyspace: "k", table: "locks", timeout: 6 * time.Second, replication: "{'class': 'NetworkTopologyStrategy', 'replication_factor': 2}"},
		"cassandra://h/k?replication=dc1:3,us-e:2": {hosts: []string{"h"}, keyspace: "k", table: "locks", timeout: 6 * time.Second, replication: "{'class': 'NetworkTopologyStrategy', 'dc1': 3, 'us-e': 2}"},
	} {
		if o, err := parse(text); err != nil || !reflect.DeepEqual(*o, want) {
			t.Errorf("%s: %+v, %v; want %+v", text, o, err, want)
		}
	}
}

// TestURLRefused: what is wrong is named, with what is allowed, and the password is not.
func TestURLRefused(t *testing.T) {
	for text, says := range map[string]string{
		"redis://h/k":                              "begin with cassandra://",
		"cassandra://h":                            `keyspace ""`,
		"cassandra://h/K":                          `keyspace "K"; want a letter`,
		"cassandra://h/k/l":                        `keyspace "k/l"`,
		"cassandra:///k":                           "want host:port",
		"cassandra://h,,i/k":                       "want host:port",
		"cassandra://u:secret%zz@h/k":              "write special characters",
		"cassandra://h/k?table=a;b":                "malformed",
		"cassandra://h/k?table=a-b":                `table "a-b"`,
		"cassandra://h/k?colour=red":               `option "colour"; known are ca, cert`,
		"cassandra://h/k?dc=a&dc=b":                "option dc is there 2 times",
		"cassandra://h/k?dc='":                     "name of a data centre",
		"cassandra://h/k?consistency=one":          "locks need quorum or local_quorum",
		"cassandra://h/k?consistency=local_quorum": "without dc",
		"cassandra://h/k?replication=0":            "want a number of replicas",
		"cassandra://h/k?replication=3,3":          "want a number of replicas",
		"cassandra://h/k?replication=a'b:3":        "want a number of replicas",
		"cassandra://h/k?tls=perhaps":              "true and false",
		"cassandra://h/k?ca=x":                     "without tls=true",
		"cassandra://h/k?server_name=x":            "without tls=true",
		"cassandra://h/k?tls=true&cert=x":          "give both files",
		"cassandra://h/k?timeout=1":                "10ms to 1h0m0s are allowed",
		"cassandra://h/k?gc_grace=1ms":             "1s to ",
		"cassandra://h/k?retries=-1":               "0 to 100 are allowed",
	} {
		_, err := Open(t.Context(), text)
		if err == nil || !strings.Contains(err.Error(), says) || !errors.Is(err, storage.ErrInvalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v; want %q", text, err, says)
		}
	}
}

// TestErrors: what each error says about a read, a plain write and a swap.
func TestErrors(t *testing.T) {
	r, i, u := storage.ErrRefused, storage.ErrInvalid, storage.ErrUnknown
	failed := func(code uint16) gocql.ErrorMap { return gocql.ErrorMap{"10.0.0.1": 0, "10.0.0.2": code} }
	for _, c := range []struct {
		err                        error
		reading, writing, swapping error
	}{
		{&gocql.RequestErrUnavailable{Consistency: gocql.Quorum}, r, r, u},
		{&gocql.RequestErrUnavailable{Consistency: gocql.Serial}, r, r, r},
		{&gocql.RequestErrUnavailable{Consistency: gocql.LocalSerial}, r, r, r},
		{&gocql.RequestErrOverloaded{}, r, r, u},
		{&gocql.RequestErrBootstrapping{}, r, r, r},
		{gocql.ErrNoConnections, r, r, r},
		{gocql.ErrNoStreams, r, r, r},
		{&gocql.RequestErrWriteTimeout{WriteType: "SIMPLE"}, r, u, u},
		{&gocql.RequestErrWriteTimeout{WriteType: "CAS"}, r, u, u},
		{&gocql.RequestErrWriteFailure{}, r, u, u},
		{&gocql.RequestErrCASWriteUnknown{}, r, u, u},
		{&gocql.RequestErrReadTimeout{}, r, u, u},
		{&gocql.RequestErrReadFailure{ErrorMap: failed(2)}, r, u, u},
		{&gocql.RequestErrReadFailure{ErrorMap: failed(1)}, i, u, u},
		{gocql.ErrTimeoutNoResponse, r, u, u},
		{gocql.ErrConnectionClosed, r, u, u},
		{context.DeadlineExceeded, r, u, u},
		{context.Canceled, r, u, u},
		{errors.New("what no test has met"), r, u, u},
		{&gocql.RequestErrInvalid{}, i, i, i},
		{&gocql.RequestErrSyntax{}, i, i, i},
		{&gocql.RequestErrUnauthorized{}, i, i, i},
		{&gocql.RequestErrConfig{}, i, i, i},
		{&gocql.RequestErrCredentials{}, i, i, i},
		{&gocql.RequestErrAlreadyExists{}, i, i, i},
		{gocql.ErrSessionClosed, i, i, i},
		{gocql.ErrTooManyStmts, i, i, i},
	} {
		for of, want := range map[doing]error{reading: c.reading, writing: c.writing, swapping: c.swapping} {
			got := wrap(c.err, of)
			if !errors.Is(got, want) || !errors.Is(got, c.err) {
				t.Errorf("%T %v of %d: %v; want %q", c.err, c.err, of, got, want)
			}
			for _, other := range []error{r, i, u} {
				if other != want && errors.Is(got, other) {
					t.Errorf("%T %v of %d is also %q", c.err, c.err, of, other)
				}
			}
		}
	}
	if err := wrap(nil, writing); err != nil {
		t.Error(err)
	}
}

// TestSettle: what replicas refuse that do not know a table yet is done again, and nothing else.
func TestSettle(t *testing.T) {
	unsettled := &gocql.RequestErrReadFailure{ErrorMap: gocql.ErrorMap{"10.0.0.1": incompatibleSchema}}
	other := errors.New("something else")
	for _, c := range []struct {
		answers []error
		want    error
	}{
		{[]error{nil}, nil},
		{[]error{unsettled, &gocql.RequestErrWriteFailure{ErrorMap: unsettled.ErrorMap}, nil}, nil},
		{[]error{unsettled, other}, other},
		{[]error{&gocql.RequestErrReadFailure{}}, &gocql.RequestErrReadFailure{}},
	} {
		tries := 0
		err := settle(t.Context(), func(context.Context) error {
			tries++
			return c.answers[tries-1]
		})
		if tries != len(c.answers) || !reflect.DeepEqual(err, c.want) {
			t.Errorf("%v: %v after %d; want %v", c.answers, err, tries, c.want)
		}
	}
}

// TestSettleEnds when its context ends, and after a while.
func TestSettleEnds(t *testing.T) {
	unsettled := &gocql.RequestErrReadFailure{ErrorMap: gocql.ErrorMap{"10.0.0.1": incompatibleSchema}}
	ctx, cancel := context.WithCancel(t.Context())
	err := settle(ctx, func(context.Context) error { cancel(); return unsettled })
	if !errors.Is(err, unsettled) {
		t.Error(err)
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := settle(t.Context(), func(context.Context) error { return unsettled })
		if took := time.Since(began); !errors.Is(err, unsettled) || took != settleLimit {
			t.Errorf("%v after %v, want after %v", err, took, settleLimit)
		}
	})
}
