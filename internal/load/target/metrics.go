package target

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/load/soak"
)

// metrics reads the processes' /metrics. A nil one knows nothing.
type metrics struct {
	client  *http.Client
	members []endpoint
}

// endpoint is a member with the URL of its metrics.
type endpoint struct{ name, url string }

// newMetrics returns one for all members of a view, or nil if one of them has no address that is valid here: the
// loopback of another machine is not.
func newMetrics(status *schema.Status, encryption *tls.Config, here bool) *metrics {
	m := &metrics{client: &http.Client{Transport: &http.Transport{TLSClientConfig: encryption}}}
	scheme := "http"
	if encryption != nil {
		scheme = "https"
	}
	for _, member := range status.View.Members {
		place, ok := httpPlace(member, here)
		if !ok {
			return nil
		}
		m.members = append(m.members, endpoint{"member " + member.Name, scheme + "://" + place + "/metrics"})
	}
	return m
}

// httpPlace returns a member's HTTP address, as seen from here.
func httpPlace(member *schema.Member, here bool) (string, bool) {
	host, port, err := net.SplitHostPort(member.Http)
	if err != nil {
		return "", false
	}
	if address, err := netip.ParseAddr(host); host == "" || err == nil && address.IsUnspecified() {
		if host, _, err = net.SplitHostPort(member.Address); err != nil {
			return "", false
		}
	}
	return net.JoinHostPort(host, port), here || !loopback(host)
}

// mostMetrics is the maximum size of an answer.
const mostMetrics = 4 << 20

// readLimit is the time limit for all members together.
const readLimit = 5 * time.Second

// read queries all members, one after the other.
func (m *metrics) read(ctx context.Context) (all []soak.Process, err error) {
	if m == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	for _, member := range m.members {
		p, err := m.fetch(ctx, member)
		if err != nil {
			return nil, fmt.Errorf("read the metrics of %s: %w", member.name, err)
		}
		all = append(all, p)
	}
	return all, nil
}

func (m *metrics) fetch(ctx context.Context, member endpoint) (soak.Process, error) {
	question, err := http.NewRequestWithContext(ctx, http.MethodGet, member.url, nil)
	if err != nil {
		return soak.Process{}, err
	}
	answer, err := m.client.Do(question)
	if err != nil {
		return soak.Process{}, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return soak.Process{}, errors.New(answer.Status)
	}
	p, err := parseMetrics(io.LimitReader(answer.Body, mostMetrics))
	p.Name = member.name
	return p, err
}

// parseMetrics extracts the wanted figures from the Prometheus text format.
func parseMetrics(text io.Reader) (p soak.Process, err error) {
	wanted := map[string]func(float64){
		"process_cpu_seconds_total":     func(v float64) { p.CPU = time.Duration(v * float64(time.Second)) },
		"process_resident_memory_bytes": func(v float64) { p.Resident = int64(v) },
		"go_memstats_heap_alloc_bytes":  func(v float64) { p.Heap = int64(v) },
		"go_goroutines":                 func(v float64) { p.Goroutines = int(v) },
		"process_open_fds":              func(v float64) { p.Files = int(v) },
	}
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		set := wanted[name]
		if set == nil {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return p, fmt.Errorf("metric %s is %q", name, value)
		}
		set(number)
	}
	if err := lines.Err(); err != nil {
		return p, err
	}
	if p.Goroutines == 0 {
		return soak.Process{}, errors.New("its metrics have nothing about its process")
	}
	return p, nil
}

func (m *metrics) close() {
	if m != nil {
		m.client.CloseIdleConnections()
	}
}
