package target

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/load/soak"
)

// statusOf is what members say of where they are.
func statusOf(members ...*schema.Member) *schema.Status {
	return &schema.Status{
		View: &schema.View{Members: members}, Spaces: []*schema.Space{{Name: "default", Authority: []string{"b"}}},
	}
}

const exposition = `# HELP process_cpu_seconds_total Total user and system CPU time spent in seconds.
# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total 1.5
process_resident_memory_bytes 3.1e+07
go_memstats_heap_alloc_bytes 2.5e+06
go_goroutines 42
process_open_fds 17
holdfast_locks{space="default"} 3
`

// TestMetrics: what members tell of their processes is read, of all or of none.
func TestMetrics(t *testing.T) {
	answer := exposition
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" || answer == "" {
			http.NotFound(w, r)
			return
		}
		if _, err := w.Write([]byte(answer)); err != nil {
			t.Error(err)
		}
	}))
	defer s.Close()
	place := strings.TrimPrefix(s.URL, "http://")
	both := statusOf(&schema.Member{Name: "a", Address: "127.0.0.1:1", Http: place}, &schema.Member{Name: "b", Address: "127.0.0.1:2", Http: place})
	m := newMetrics(both, nil, true)
	defer m.close()
	got, err := m.read(t.Context())
	want := soak.Process{Name: "member b", Usage: load.Usage{CPU: 1500 * time.Millisecond, Resident: 31_000_000, Heap: 2_500_000}, Goroutines: 42, Files: 17}
	if err != nil || len(got) != 2 || got[1] != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for wrong, why := range map[string]string{
		"": "read the metrics of member a: 404 Not Found", "holdfast_locks 1\n": "its metrics have nothing about its process",
		"go_goroutines many\n": `metric go_goroutines is "many"`,
	} {
		answer = wrong
		if _, err := m.read(t.Context()); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%v, want %q", err, why)
		}
	}
	if none, err := (*metrics)(nil).read(t.Context()); none != nil || err != nil {
		t.Errorf("%v, %v", none, err)
	}
}

// TestHTTPPlace: an address means the same here, or is not used.
func TestHTTPPlace(t *testing.T) {
	for _, tt := range []struct {
		http  string
		here  bool
		place string
	}{
		{"10.0.0.1:8080", false, "10.0.0.1:8080"},
		{"0.0.0.0:8080", false, "10.0.0.9:8080"},
		{"[::]:8080", false, "10.0.0.9:8080"},
		{":8080", false, "10.0.0.9:8080"},
		{"127.0.0.1:8080", true, "127.0.0.1:8080"},
		{"127.0.0.1:8080", false, ""}, // that is another machine's loopback
		{"localhost:8080", false, ""},
		{"", true, ""},
	} {
		place, ok := httpPlace(&schema.Member{Address: "10.0.0.9:4040", Http: tt.http}, tt.here)
		if ok != (tt.place != "") || ok && place != tt.place {
			t.Errorf("%q, here %v: %q, %v", tt.http, tt.here, place, ok)
		}
	}
	if m := newMetrics(statusOf(&schema.Member{Http: "10.0.0.1:1"}, &schema.Member{Http: ""}), nil, true); m != nil {
		t.Error("one member tells nothing, and the others are taken for all")
	}
}

// TestOnThisMachine.
func TestOnThisMachine(t *testing.T) {
	for servers, want := range map[string]bool{
		"127.0.0.1:1,[::1]:2": true, "localhost": true, "unix:///run/holdfast.sock": true, "holdfast://127.0.0.1": true,
		"127.0.0.1:1,10.0.0.1:1": false, "example.org": false, "mailto:x": false,
	} {
		if got := OnThisMachine(servers); got != want {
			t.Errorf("%s: %v", servers, got)
		}
	}
}

// TestConnectPing: the authority is asked first, and the addresses that were given where it
// cannot be reached; no process needs to answer, only the system.
func TestConnectPing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := api.Address{Network: "tcp", Place: l.Addr().String()}
	r := &running{Elsewhere: Elsewhere{Space: "default"}}
	authority := r.authority(statusOf(&schema.Member{Name: "a", Address: "127.0.0.1:1"}, &schema.Member{Name: "b", Address: address.Place}))
	if len(authority) != 1 || authority[0] != address {
		t.Errorf("the authority is at %v", authority)
	}
	r.addresses = []api.Address{{Network: "unix", Place: t.TempDir() + "/unserved"}, address}
	if d, err := r.Ping(t.Context(), time.Second); err != nil || d <= 0 {
		t.Errorf("%v, %v", d, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if d, err := r.Ping(t.Context(), time.Second); err == nil {
		t.Errorf("%v, and no member is there", d)
	}
}
