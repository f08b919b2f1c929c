package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/holdfast-locks/holdfast/internal/access/guard"
	"github.com/holdfast-locks/holdfast/internal/access/token"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/server"
)

// The roles of the processes of BenchmarkHostile: role, address of the gRPC port, address of the HTTP port, token.
const roleKey = "HOLDFAST_BENCH_ROLE"

// BenchmarkHostile measures what a hostile client costs another one, at the default quotas: the latency of a lock and
// its release over a stream, on an idle member and under an attack. The member, the client and the attacker are
// processes of this machine; the attacker has the lowest priority. It floods with streams of deep frames, with calls for
// a thousand names each, and with new sessions. The metrics are the client's 99th percentiles, their ratio, and how many
// requests of the client were refused, of which there must be none.
func BenchmarkHostile(b *testing.B) {
	for range b.N {
		m, secrets := serveTokens(b)
		idle := m.play(b, "client", secrets["good"])
		var before, under latencies
		noError(b, json.NewDecoder(idle.out).Decode(&before))
		noError(b, idle.close())
		attack := m.play(b, "attacker", secrets["bad"])
		if _, err := attack.out.ReadString('\n'); err != nil {
			b.Fatal(err)
		}
		busy := m.play(b, "client", secrets["good"])
		noError(b, json.NewDecoder(busy.out).Decode(&under))
		noError(b, busy.close())
		noError(b, attack.close())
		if attacked := m.refused("quota_locks") + m.refused("quota_sessions"); attacked == 0 {
			b.Error("the attacker has not met its quota")
		}
		b.ReportMetric(float64(before.P99)/1e3, "µs-p99-idle")
		b.ReportMetric(float64(under.P99)/1e3, "µs-p99-attacked")
		b.ReportMetric(float64(before.P50)/1e3, "µs-p50-idle")
		b.ReportMetric(float64(under.P50)/1e3, "µs-p50-attacked")
		b.ReportMetric(float64(under.P99)/float64(before.P99), "p99-ratio")
		b.ReportMetric(float64(under.Refused), "refused")
		b.ReportMetric(float64(under.Count), "cycles-attacked")
		if under.Refused > 0 {
			b.Errorf("%d requests of the client were refused", under.Refused)
		}
	}
}

// serveTokens starts a member that knows two tokens, and has no policy.
func serveTokens(b *testing.B) (m *served, secrets map[string]string) {
	tokens := token.Open(token.Options{Path: filepath.Join(b.TempDir(), "tokens.yaml")})
	secrets = map[string]string{}
	for _, name := range []string{"good", "bad"} {
		secret, sum := token.New()
		noError(b, tokens.Add(token.Record{Name: name, Sum: sum, Created: time.Now().UTC().Truncate(time.Second)}))
		secrets[name] = secret
	}
	known, err := guard.Open(guard.Config{Tokens: tokens})
	noError(b, err)
	return serve(b, host.Limits{}, server.Limits{}, func(c *server.Config) { c.Guard = known }), secrets
}

// player is a process of the benchmark.
type player struct {
	command *exec.Cmd
	in      io.Closer
	out     *bufio.Reader
}

// play starts this program in a role.
func (m *served) play(b *testing.B, role, secret string) *player {
	command := exec.Command(os.Args[0], "-test.run=^TestPlay$", "-test.timeout=5m")
	if role == "attacker" {
		command = exec.Command("nice", append([]string{"-n", "19"}, command.Args...)...)
	}
	command.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %s %s", roleKey, role, m.grpc, m.http, secret))
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	noError(b, err)
	out, err := command.StdoutPipe()
	noError(b, err)
	noError(b, command.Start())
	return &player{command, in, bufio.NewReader(out)}
}

// close ends the process.
func (p *player) close() error {
	if err := p.in.Close(); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, p.out); err != nil {
		return err
	}
	return p.command.Wait()
}

// TestPlay is the main function of the other processes of BenchmarkHostile.
func TestPlay(t *testing.T) {
	parts := strings.Fields(os.Getenv(roleKey))
	if len(parts) != 4 {
		t.Skip("this is a part of BenchmarkHostile")
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, os.Stdin) // until the other end closes it
	}()
	c := &caller{grpc: parts[1], http: parts[2], secret: parts[3]}
	if parts[0] == "client" {
		noError(t, json.NewEncoder(os.Stdout).Encode(c.measure(t)))
	} else {
		c.attack(t, ctx)
	}
}

// caller is a client with a token.
type caller struct{ grpc, http, secret string }

func (c *caller) connect(t *testing.T) *grpc.ClientConn {
	conn, err := grpc.NewClient("passthrough:///"+c.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	noError(t, err)
	t.Cleanup(func() { noError(t, conn.Close()) })
	return conn
}

// open opens a stream. The answer to its hello may be a refusal.
func (c *caller) open(ctx context.Context, conn *grpc.ClientConn) (grpc.BidiStreamingClient[schema.ClientFrame, schema.ServerFrame], *schema.Event, error) {
	stream, err := schema.NewSessionsClient(conn).Open(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+c.secret))
	if err != nil {
		return nil, nil, err
	}
	hello := &schema.Operation{Kind: &schema.Operation_Hello{Hello: &schema.Hello{Client: "bench", Ttl: int64(time.Minute)}}}
	if err := stream.Send(&schema.ClientFrame{Operations: []*schema.Operation{hello}}); err != nil {
		return nil, nil, err
	}
	frame, err := stream.Recv()
	if err != nil {
		return nil, nil, err
	}
	return stream, frame.GetEvents()[0], nil
}

// latencies are those of a client's cycles.
type latencies struct {
	P50, P99       time.Duration
	Count, Refused int
}

// measured is how long a client measures.
const measured = 5 * time.Second

// measure locks and releases a name again and again, a millisecond apart.
func (c *caller) measure(t *testing.T) (l latencies) {
	stream, welcome, err := c.open(t.Context(), c.connect(t))
	noError(t, err)
	if welcome.GetWelcome() == nil {
		l.Refused++
		return l
	}
	speaker := &speaker{t: t, stream: stream}
	var took []time.Duration
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	id := uint64(0)
	for end := time.Now().Add(measured); time.Now().Before(end); <-ticker.C {
		id++
		began := time.Now()
		speaker.say(lockOf(id, "good"))
		if speaker.hear().GetGranted() == nil {
			l.Refused++
			continue
		}
		speaker.say(unlockOf(id, "good"))
		if speaker.hear().GetReleased() == nil {
			l.Refused++
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	l.Count, l.P50, l.P99 = len(took), took[len(took)/2], took[len(took)*99/100]
	return l
}

// attack floods the member until ctx ends, and writes a line when it has begun.
func (c *caller) attack(t *testing.T, ctx context.Context) {
	var all, begun sync.WaitGroup
	for range 8 {
		conn := c.connect(t)
		for range 8 {
			begun.Add(1)
			all.Go(func() { c.flood(ctx, conn, sync.OnceFunc(begun.Done)) })
		}
		all.Go(func() {
			for ctx.Err() == nil {
				_, _, _ = c.open(ctx, conn) // refused at the quota
			}
		})
	}
	for i := range 32 {
		all.Go(func() { c.ask(ctx, i) })
	}
	begun.Wait()
	fmt.Println("attacking")
	all.Wait()
}

// flood sends deep frames, without a pause, and calls begun after the first.
func (c *caller) flood(ctx context.Context, conn *grpc.ClientConn, begun func()) {
	defer begun()
	for ctx.Err() == nil {
		stream, _, err := c.open(ctx, conn)
		if err != nil {
			continue
		}
		go func() {
			for {
				if _, err := stream.Recv(); err != nil {
					return
				}
			}
		}()
		for id := uint64(1); ; {
			frame := &schema.ClientFrame{}
			for range 8000 {
				frame.Operations = append(frame.Operations, lockOf(id, fmt.Sprintf("bad/%d/%p", id, stream)))
				id++
			}
			if stream.Send(frame) != nil {
				break
			}
			begun()
		}
	}
}

// ask asks for a thousand names at a time.
func (c *caller) ask(ctx context.Context, i int) {
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for n := 0; ctx.Err() == nil; n++ {
		var names []string
		for k := range 1000 {
			names = append(names, fmt.Sprintf("http/%d/%d/%d", i, n, k))
		}
		body, _ := json.Marshal(map[string]any{"names": names, "ttl": "1m"})
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.http+acquirePath, strings.NewReader(string(body)))
		if err != nil {
			return
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+c.secret)
		if answer, err := client.Do(r); err == nil {
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
		}
	}
}
