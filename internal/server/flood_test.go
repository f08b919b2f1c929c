package server_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/server"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
)

// Each flood here shows four things: that it was one, that its client learned which limit it had
// met, that a client that does nothing wrong was served in its midst, and that when it is
// over the member is back to as many goroutines as before and to no more memory than
// slack above what it had: anything that grew by the flood would be larger.

// slack is for what a member keeps however much was asked: pools, free lists, the history
// of ended grants, buckets of maps.
const slack = 3 << 20

// keptEvents is for the latest 4,096 events of a filter, with names of 500 bytes, that a watcher may ask for again.
const keptEvents = 4 << 20

// many is how many make a flood; fewer where the race detector watches each.
func many(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

// TestFloodOfSessions: some thousand attempts beyond the bound, and as many that end
// what they have opened, with the longest TTL.
func TestFloodOfSessions(t *testing.T) {
	m := serve(t, host.Limits{Sessions: 50}, server.Limits{})
	good := m.open(m.dial())
	m.post(200, "/v1/sessions/end", object{"session": m.post(200, acquirePath, object{"name": "x"}).object["session"]})
	before := levelNow()
	var all []*speaker
	conn := m.dial()
	for len(all) < 49 {
		all = append(all, m.open(conn))
	}
	n := many(3000)
	for i := range n {
		c, event := m.hello(conn)
		limited(t, event, 0, "sessions", 50)
		noError(t, c.end())
		c.cancel()
		if i%10 == 0 {
			m.limited(acquirePath, object{"name": "y", "ttl": "1h"}, "sessions", 50)
			good.serves(1, "x")
		}
	}
	if counted := m.refused("sessions"); counted != float64(n+n/10) {
		t.Errorf("%v were counted", counted)
	}
	for _, c := range all {
		c.say(endOf())
		noError(t, c.end())
		c.cancel()
	}
	for range n {
		session := m.post(200, acquirePath, object{"name": "y", "ttl": "1h"}).object["session"]
		m.post(200, "/v1/sessions/end", object{"session": session})
	}
	good.serves(1, "x")
	if n := m.metric("holdfast_sessions"); n != 1 {
		t.Errorf("%v sessions are left", n)
	}
	noError(t, conn.Close())
	m.backTo(before, slack)
}

// TestFloodOfConnections: thousands that say nothing, to both ports. Those within the
// bound lose their patience's worth of time, those beyond are turned away at once.
func TestFloodOfConnections(t *testing.T) {
	parallel.SkipBrief(t)
	m := serve(t, host.Limits{}, server.Limits{Connections: 100, Header: 2 * time.Second})
	good := m.open(m.dial())
	good.serves(1, "x")
	m.post(200, "/v1/sessions/end", object{"session": m.post(200, acquirePath, object{"name": "y"}).object["session"]})
	before := levelNow()
	var all []net.Conn
	for i := range 1500 {
		for _, address := range []string{m.grpc, m.http} {
			c, err := net.Dial("tcp", address)
			noError(t, err)
			all = append(all, c)
		}
		if i%100 == 0 {
			good.serves(1, "x")
		}
	}
	for _, c := range all {
		readToEnd(t, c) // turned away, or ended by the time that a handshake may take
		noError(t, c.Close())
	}
	good.serves(1, "x")
	m.post(200, "/v1/sessions/end", object{"session": m.post(200, acquirePath, object{"name": "y"}).object["session"]})
	if n := m.refused("connections"); n < 2*1400 || n > 2*1500 {
		t.Errorf("%v were counted", n)
	}
	for _, port := range []string{"grpc", "http"} {
		m.until("the connections are closed", func() bool { return m.metric(fmt.Sprintf("holdfast_connections{port=%q}", port)) <= 2 })
	}
	m.backTo(before, slack)
}

// TestFloodOfHandshakes: of those that begin to encrypt and stall.
func TestFloodOfHandshakes(t *testing.T) {
	parallel.SkipBrief(t)
	borrowed := httptest.NewUnstartedServer(nil)
	borrowed.StartTLS()
	certificates := borrowed.TLS.Certificates
	trusted := x509.NewCertPool()
	trusted.AddCert(borrowed.Certificate())
	borrowed.Close()
	m := serve(t, host.Limits{}, server.Limits{Header: 2 * time.Second}, func(c *server.Config) { c.TLS = &tls.Config{Certificates: certificates} })
	secure := credentials.NewTLS(&tls.Config{RootCAs: trusted, ServerName: "example.com"})
	conn, err := grpc.NewClient("passthrough:///"+m.grpc, grpc.WithTransportCredentials(secure))
	noError(t, err)
	defer conn.Close()
	m.secure(&tls.Config{RootCAs: trusted})
	good := m.open(conn)
	good.serves(1, "x")
	m.refused("handshake")
	before := levelNow()
	var all []net.Conn
	for i := range 300 {
		for _, address := range []string{m.grpc, m.http} {
			c, err := net.Dial("tcp", address)
			noError(t, err)
			_, err = io.WriteString(c, "\x16\x03\x01\x02\x00\x01"[:1+i%6]) // of a ClientHello
			noError(t, err)
			all = append(all, c)
		}
		good.serves(1, "x")
	}
	for _, c := range all {
		readToEnd(t, c)
		noError(t, c.Close())
	}
	good.serves(1, "x")
	m.until("they are counted", func() bool { return m.refused("handshake") == 300 && m.refused("malformed") == 300 })
	m.backTo(before, slack)
}

// readToEnd reads until the other side closes; that it does is what is tested.
func readToEnd(t testing.TB, c net.Conn) string {
	t.Helper()
	text, err := io.ReadAll(c)
	if err != nil && !strings.Contains(err.Error(), "reset") {
		t.Fatal(err)
	}
	return string(text)
}

// TestFloodOfWaiters: on one name.
func TestFloodOfWaiters(t *testing.T) {
	m := serve(t, host.Limits{WaitersPerName: 100}, server.Limits{})
	good := m.open(m.dial())
	holder := m.open(m.dial())
	holder.say(lockOf(1, "hot"))
	holder.hear()
	good.serves(1, "x")
	before := levelNow()
	conn := m.dial()
	waits, over := 0, 0
	var flood []*speaker
	streams := many(20)
	for range streams {
		c := m.open(conn)
		flood = append(flood, c)
		for round := range 10 {
			var operations []*schema.Operation
			for i := range 500 {
				operations = append(operations, lockOf(uint64(1+500*round+i), "hot"))
			}
			c.say(operations...)
			for range operations {
				if event := c.hear(); event.GetQueued() != nil {
					waits++
				} else {
					limited(t, event, event.GetId(), "waiters_per_name", 100)
					over++
				}
			}
			good.serves(1, "x")
		}
	}
	if waits != 100 || over != 5000*streams-100 || m.refused("waiters_per_name") != float64(over) {
		t.Errorf("%d wait, %d were refused, %v were counted", waits, over, m.refused("waiters_per_name"))
	}
	holder.say(unlockOf(1, "hot"))
	if event := flood[0].hear(); event.GetId() != 1 || event.GetGranted() == nil {
		t.Errorf("the first of them: %v", event)
	}
	for _, c := range flood {
		c.say(endOf())
		noError(t, c.end())
		c.cancel()
	}
	good.serves(1, "hot")
	noError(t, conn.Close())
	m.backTo(before, slack)
}

// TestFloodOfNames: distinct ones, each of them new, beyond the bound and below it.
func TestFloodOfNames(t *testing.T) {
	m := serve(t, host.Limits{Names: 1000}, server.Limits{})
	good := m.open(m.dial())
	good.serves(1, "x")
	conn := m.dial()
	c := m.open(conn)
	before := levelNow()
	granted, over := 0, 0
	name := func(i int) string { return fmt.Sprintf("%s/%d", strings.Repeat("n", 400), i) }
	rounds := many(50)
	for round := range rounds {
		var operations []*schema.Operation
		for i := range 1000 {
			operations = append(operations, lockOf(uint64(1+1000*round+i), name(1000*round+i)))
		}
		c.say(operations...)
		for range operations {
			if event := c.hear(); event.GetGranted() != nil {
				granted++
			} else {
				limited(t, event, event.GetId(), "names", 1000)
				over++
			}
		}
	}
	if granted != 1000 || over != 1000*(rounds-1) || m.refused("names") != float64(over) {
		t.Errorf("%d were granted, %d refused, %v counted", granted, over, m.refused("names"))
	}
	for i := range 1000 {
		c.say(unlockOf(uint64(1+i), name(i)))
		c.hear()
	}
	good.serves(2, "x")
	for i := range many(20_000) { // and one after the other
		c.say(lockOf(uint64(100_000+i), name(i)), unlockOf(uint64(100_000+i), name(i)))
		c.hear()
		c.hear()
	}
	good.serves(3, "x")
	m.backTo(before, slack)
}

// TestFloodOfLargeFrames: each ends its stream before it is understood.
func TestFloodOfLargeFrames(t *testing.T) {
	m := serve(t, host.Limits{}, server.Limits{MessageBytes: 64 << 10})
	good := m.open(m.dial())
	good.serves(1, "x")
	before := levelNow()
	conn := m.dial()
	large := frameOf(1 << 20)
	for range 200 {
		c := m.open(conn)
		if err := c.stream.Send(large); err != nil && err != io.EOF {
			t.Fatal(err)
		}
		if err := c.end(); status.Code(err) != codes.ResourceExhausted {
			t.Fatalf("a large frame: %v", err)
		}
		c.cancel()
		good.serves(1, "x")
	}
	// A sender may know before what it has sent is counted.
	m.until("all of them are counted", func() bool { return m.refused(api.CodeTooLarge) == 200 })
	noError(t, conn.Close())
	m.backTo(before, slack)
}

// TestFloodByAClientThatNeverReads: events for a client that does not read are kept up to a
// bound, and then its stream is ended and nothing is kept.
func TestFloodByAClientThatNeverReads(t *testing.T) {
	m := serve(t, host.Limits{}, server.Limits{})
	good := m.open(m.dial())
	good.serves(1, "x")
	before := levelNow()
	conn := m.dial()
	c := m.open(conn)
	beats := make([]*schema.Operation, 1000)
	for i := range beats {
		beats[i] = &schema.Operation{Id: uint64(i + 1), Kind: &schema.Operation_Beat{Beat: &schema.Beat{}}}
	}
	sent := make(chan int, 1)
	go func() {
		n := 0
		for c.stream.Send(&schema.ClientFrame{Operations: beats}) == nil {
			n++
		}
		sent <- n
	}()
	m.until("it is refused as too slow", func() bool {
		good.serves(1, "x")
		return m.refused("unread_answers") == 1
	})
	err := c.end()
	if problem := api.FromStatus("", err); api.Code(problem) != api.CodeLimit || !strings.Contains(problem.Error(), "100000 events") {
		t.Errorf("it got %v", err)
	}
	if n := <-sent; n < 100 {
		t.Errorf("after %d frames", n)
	}
	c.cancel()
	noError(t, conn.Close())
	m.backTo(before, slack)
}

// TestFloodOfTrickles: headers and bodies that come a byte at a time have a time as a
// whole.
func TestFloodOfTrickles(t *testing.T) {
	parallel.SkipBrief(t)
	m := serve(t, host.Limits{}, server.Limits{Header: time.Second, Body: time.Second})
	good := m.open(m.dial())
	good.serves(1, "x")
	before := levelNow()
	var trickles []net.Conn
	for i := range 200 {
		c, err := net.Dial("tcp", m.http)
		noError(t, err)
		say := "POST " + acquirePath + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
		if i%2 == 0 {
			say += "Content-Length: 100000\r\n\r\n{"
		} else {
			say += "X-Slow: "
		}
		_, err = io.WriteString(c, say)
		noError(t, err)
		trickles = append(trickles, c)
	}
	for alive := trickles; len(alive) > 0; {
		var next []net.Conn
		for _, c := range alive {
			if _, err := io.WriteString(c, " "); err == nil {
				next = append(next, c)
			}
		}
		alive = next
		good.serves(1, "x")
	}
	for _, c := range trickles {
		noError(t, c.Close())
	}
	m.until("the half bodies are counted", func() bool { return m.refused(api.CodeBadRequest) >= 100 })
	m.until("the half headers are counted", func() bool { return m.refused("malformed") >= 100 })
	m.backTo(before, slack)
}

// TestFloodOfHeaders: more of them than are read.
func TestFloodOfHeaders(t *testing.T) {
	parallel.SkipBrief(t)
	m := serve(t, host.Limits{}, server.Limits{})
	good := m.open(m.dial())
	good.serves(1, "x")
	before := levelNow()
	conn := m.dial()
	header := strings.Repeat("X-Much: "+strings.Repeat("m", 1000)+"\r\n", 100)
	var all []net.Conn
	for range 100 {
		c, err := net.Dial("tcp", m.http)
		noError(t, err)
		all = append(all, c)
		if _, err = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n"+header+"\r\n"); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Fatal(err)
		}
		_, err = schema.NewLocksClient(conn).Status(manyHeaders(m.patience), &schema.StatusRequest{})
		if err == nil {
			t.Error("a call with a large header is answered")
		}
		good.serves(1, "x")
	}
	for _, c := range all {
		if got := readToEnd(t, c); got != "" && !strings.HasPrefix(got, "HTTP/1.1 431 ") {
			t.Errorf("got %.80q", got)
		}
		noError(t, c.Close())
	}
	m.until("they are counted", func() bool { return m.refused("malformed") >= 100 })
	noError(t, conn.Close())
	m.backTo(before, slack)
}

// TestFloodOfAbandonedWaits: long polls whose clients go away leave no waiter behind.
func TestFloodOfAbandonedWaits(t *testing.T) {
	m := serve(t, host.Limits{}, server.Limits{})
	good := m.open(m.dial())
	good.say(lockOf(7, "hot"))
	good.hear()
	before := levelNow()
	for round := range 10 {
		var all []net.Conn
		for i := range 100 {
			c, err := net.Dial("tcp", m.http)
			noError(t, err)
			body := fmt.Sprintf(`{"name":"hot","wait":"50s","request":"%d/%d"}`, round, i)
			_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", acquirePath, len(body), body)
			noError(t, err)
			all = append(all, c)
		}
		m.until("they wait", func() bool { return m.metric(`holdfast_waiters{space="default"}`) == 100 })
		good.serves(1, "x")
		for _, c := range all {
			noError(t, c.Close())
		}
		m.until("none waits", func() bool { return m.metric(`holdfast_waiters{space="default"}`) == 0 })
	}
	m.until("no other session or request is left", func() bool {
		return m.metric("holdfast_sessions")+m.metric("holdfast_requests") == 1
	})
	m.backTo(before, slack)
}

// TestFloodOfUnreadEvents: watchers that never read are dropped, with the reason.
func TestFloodOfUnreadEvents(t *testing.T) {
	parallel.SkipBrief(t)
	m := serve(t, host.Limits{}, server.Limits{Watchers: 4, Body: 3 * time.Second})
	good := m.open(m.dial())
	good.serves(1, "x")
	before := levelNow()
	var watchers []net.Conn
	for range 4 {
		c, err := net.Dial("tcp", m.http)
		noError(t, err)
		noError(t, c.(*net.TCPConn).SetReadBuffer(1024))
		_, err = io.WriteString(c, "GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
		noError(t, err)
		watchers = append(watchers, c)
	}
	m.until("they watch", func() bool { return m.metric("holdfast_watchers") == 4 })
	if a := m.roundTrip(429, http.MethodGet, "/v1/events", nil); a.object["limit"] != "watchers" {
		t.Errorf("a fifth: %s", a.text)
	}
	name := strings.Repeat("n", 500)
	cycles := 0
	m.until("they are dropped", func() bool {
		var operations []*schema.Operation
		for range 200 {
			cycles++
			operations = append(operations, lockOf(uint64(cycles), name), unlockOf(uint64(cycles), name))
		}
		good.say(operations...)
		for range operations {
			good.hear()
		}
		return m.refused("unread_events") == 4 || m.metric("holdfast_watchers") == 0
	})
	if cycles < 2000 {
		t.Errorf("after %d cycles", cycles)
	}
	good.serves(uint64(cycles+1), "x")
	for _, c := range watchers {
		noError(t, c.Close())
	}
	m.backTo(before, slack+keptEvents)
}

// TestFloodOfDuplicates: a request that is sent again and again acts once, and costs no
// memory again.
func TestFloodOfDuplicates(t *testing.T) {
	m := serve(t, host.Limits{}, server.Limits{})
	good := m.open(m.dial())
	c := m.open(m.dial())
	c.say(lockOf(1, "x"))
	token := c.hear().GetGranted().GetToken()
	first := m.post(200, acquirePath, object{"name": "y", "request": "once", "ttl": "1h"})
	good.serves(1, "z")
	before := levelNow()
	for range many(100) {
		operations := make([]*schema.Operation, 500)
		for i := range operations {
			operations[i] = lockOf(1, "x")
		}
		c.say(operations...)
		for range operations {
			if event := c.hear(); event.GetGranted().GetToken() != token {
				t.Fatalf("a duplicate got %v", event)
			}
		}
		for range 10 {
			if again := m.post(200, acquirePath, object{"name": "y", "request": "once", "ttl": "1h"}); again.object["token"] != first.object["token"] {
				t.Fatalf("a duplicate got %s", again.text)
			}
		}
		good.serves(1, "z")
	}
	for range many(500) { // what is given up again is given up once
		c.say(unlockOf(1, "x"), unlockOf(1, "x"), cancelOf(1, "x"))
		c.hear()
		c.hear()
		c.hear()
	}
	if n := m.metric(`holdfast_locks{space="default"}`); n != 1 {
		t.Errorf("%v names are held", n)
	}
	m.backTo(before, slack)
}

// TestFloodAfterTheEnd: operations after a goodbye, and with a session that has ended,
// act on nothing.
func TestFloodAfterTheEnd(t *testing.T) {
	m := serve(t, host.Limits{}, server.Limits{})
	good := m.open(m.dial())
	good.serves(1, "x")
	before := levelNow()
	conn := m.dial()
	for range 300 {
		c := m.open(conn)
		c.say(endOf(), lockOf(1, "x"), lockOf(2, "x"))
		for i := range 20 {
			if c.stream.Send(&schema.ClientFrame{Operations: []*schema.Operation{lockOf(uint64(3+i), "x")}}) != nil {
				break
			}
		}
		noError(t, c.end())
		c.cancel()
		good.serves(1, "x")
	}
	gone := m.post(200, acquirePath, object{"name": "y"}).object["session"]
	m.post(200, "/v1/sessions/end", object{"session": gone})
	for range 300 {
		m.post(404, "/v1/sessions/renew", object{"session": gone})
		m.post(404, "/v1/spaces/default/release", object{"session": gone, "name": "y", "token": "1"})
		m.post(404, acquirePath, object{"session": gone, "name": "y"})
	}
	if n := m.metric(`holdfast_locks{space="default"}`) + m.metric("holdfast_sessions"); n != 1 {
		t.Errorf("%v names and sessions are left", n)
	}
	noError(t, conn.Close())
	m.backTo(before, slack)
}

// manyHeaders is a context of a call with more metadata than is read.
func manyHeaders(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "x-much", strings.Repeat("m", 100_000))
}
