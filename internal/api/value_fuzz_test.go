package api_test

import (
	"encoding/json"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// FuzzValues reads times and lengths of time: what is accepted is written in one way, and
// read the same again.
func FuzzValues(f *testing.F) {
	for _, seed := range []string{
		`""`, `"2026-11-21T18:04:05Z"`, `"2026-11-21T18:04:05.123456789123+01:30"`, `"0000-01-01T00:00:00+23:59"`, `"9999-12-31T23:59:59.999999999-23:59"`,
		`"0001-01-01T00:00:00Z"`, `"1m30s"`, `"-0"`, `"2562047h47m16.854775807s"`, `"1e3s"`, `null`, `1`, `{}`, `"\ud800"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var at, again api.Time
		if json.Unmarshal(data, &at) == nil && string(data) != "null" {
			written, err := json.Marshal(at)
			if err != nil || json.Unmarshal(written, &again) != nil || !again.Equal(at.Time) {
				t.Errorf("%s is written %s (%v) and read as %v", data, written, err, again)
			}
		}
		var length, other api.Duration
		if json.Unmarshal(data, &length) == nil && string(data) != "null" {
			written, err := json.Marshal(length)
			if err != nil || json.Unmarshal(written, &other) != nil || other != length {
				t.Errorf("%s is written %s (%v) and read as %v", data, written, err, other)
			}
		}
	})
}

// FuzzAcquired: what port 4040 says of a lock can be written as JSON.
func FuzzAcquired(f *testing.F) {
	for _, a := range []*schema.Acquired{
		{}, {Space: "s", Name: "n", Mode: schema.Mode_MODE_SLOTS, Units: -1, Token: 1 << 63, Ttl: api.Span(1), Class: schema.Class_CLASS_FENCED}, {Mode: 99}, {Class: -1},
	} {
		data, err := proto.Marshal(a)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	j := api.NewJSON()
	f.Fuzz(func(t *testing.T, data []byte) {
		said := &schema.Acquired{}
		if proto.Unmarshal(data, said) != nil {
			return
		}
		if text := j.Append(nil, said); !json.Valid(text) {
			t.Errorf("%v is written %s", said, text)
		}
	})
}

// FuzzStatus: every end of a call is an error that says which operation it has ended,
// with a code of the table.
func FuzzStatus(f *testing.F) {
	for _, err := range problems() {
		s, ok := status.FromError(api.ToStatus(err))
		if !ok {
			continue
		}
		if data, err := proto.Marshal(s.Proto()); err == nil {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		said := status.New(codes.OK, "").Proto()
		if proto.Unmarshal(data, said) != nil {
			return
		}
		err := api.FromStatus("list", status.FromProto(said).Err())
		if codes.Code(said.GetCode()) == codes.OK {
			if err != nil {
				t.Errorf("success became %v", err)
			}
			return
		}
		if err == nil || err.Error() == "" {
			t.Fatalf("%v became %v", said, err)
		}
		if api.ExitCode(api.Code(err), "") == 0 {
			t.Errorf("%v would end a command with exit code 0", err)
		}
		if _, failure := json.Marshal(api.NewProblem(err)); failure != nil {
			t.Errorf("%v is no document: %v", err, failure)
		}
	})
}
