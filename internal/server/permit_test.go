package server

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/holdfast-locks/holdfast/internal/access"
	"github.com/holdfast-locks/holdfast/internal/access/guard"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/audit"
)

// wantedRights is which right each call takes. The schema says so, too; here a reviewer sees all of them.
var wantedRights = map[string]string{
	"Sessions/Open": "lock some",
	"Locks/Acquire": "lock name", "Locks/Release": "session", "Locks/OpenSession": "lock some", "Locks/Renew": "session", "Locks/SetValue": "session", "Locks/EndSession": "session",
	"Locks/List": "read some", "Locks/Show": "read name", "Locks/Break": "break name", "Locks/Status": "read some", "Locks/Watch": "read some",
	"Locks/Observe": "read name",
	"Admin/Leave":   "admin", "Admin/Drain": "admin", "Admin/PlanForce": "admin", "Admin/ForceView": "admin", "Admin/Reform": "admin space",
	"Admin/Shards": "read some", "Admin/Snapshot": "admin space",
	"Admin/Transfer": "operate space", "Admin/Suspend": "operate space", "Admin/Resume": "operate space",
	"Admin/OpenSpace": "operate space", "Admin/CloseSpace": "operate space",
	"Admin/WhoAmI": "anyone", "Admin/CheckAccess": "anyone",
	"Admin/AddToken": "admin", "Admin/ListTokens": "admin", "Admin/RevokeToken": "admin", "Admin/WatchAudit": "admin",
	"Admin/ListSessions": "operate", "Admin/TerminateSession": "operate",
}

// TestEveryCallHasARight compares the table above with the schema.
func TestEveryCallHasARight(t *testing.T) {
	rights, err := rightsOf()
	must(t, err)
	got := map[string]string{}
	for method, r := range rights {
		text := r.verb.String()
		switch {
		case r.free:
			method := methodOf(t, method)
			call, _ := proto.GetExtension(method.Options(), schema.E_Call).(*schema.Call)
			text = call.GetVerb()
		case r.some:
			text += " some"
		case r.name != nil:
			text += " name"
		case r.space != nil:
			text += " space"
		}
		got[strings.TrimPrefix(method, "/holdfast.v1.")] = text
	}
	for call, want := range wantedRights {
		if got[call] != want {
			t.Errorf("%s takes %q, want %q", call, got[call], want)
		}
	}
	for call, right := range got {
		if wantedRights[call] == "" {
			t.Errorf("%s takes %q, and the table has it not", call, right)
		}
	}
}

func methodOf(t testing.TB, full string) protoreflect.MethodDescriptor {
	t.Helper()
	service, method, _ := strings.Cut(strings.TrimPrefix(full, "/"), "/")
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	must(t, err)
	return found.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(method))
}

// requestOf returns a request of a call about deploy/x in space default.
func requestOf(method protoreflect.MethodDescriptor) proto.Message {
	m := dynamicpb.NewMessage(method.Input())
	set := func(name, value string) {
		if f := m.Descriptor().Fields().ByName(protoreflect.Name(name)); f != nil && f.Kind() == protoreflect.StringKind && !f.IsList() {
			m.Set(f, protoreflect.ValueOfString(value))
		}
	}
	set("space", "default")
	set("name", "deploy/x")
	set("verb", "lock")
	set("member", "elsewhere")
	set("as", "voter")
	set("reason", "a test")
	set("confirm", "none")
	if f := m.Descriptor().Fields().ByName("ttl"); f != nil { // so that nothing is held, and nothing waits for it
		m.Set(f, protoreflect.ValueOfMessage(durationpb.New(-time.Second).ProtoReflect()))
	}
	return m
}

// eachWay runs a test over real connections with TLS, and in process. From is how the addresses of callers begin.
func eachWay(t *testing.T, test func(t *testing.T, g *guarded, from string)) {
	t.Run("sockets", func(t *testing.T) { test(t, newGuarded(t, onePolicy, nil), "127.0.0.1:") })
	t.Run("process", func(t *testing.T) {
		g := newGuarded(t, onePolicy, nil)
		g.inProcess()
		test(t, g, inMemory)
	})
}

// TestEveryCallOfEveryone makes every call as every kind of caller: it is refused as the policy says, over both ports
// alike, and each refusal is in the audit log with the true subject.
func TestEveryCallOfEveryone(t *testing.T) { eachWay(t, everyCallOfEveryone) }

func everyCallOfEveryone(t *testing.T, g *guarded, from string) {
	rights, err := rightsOf()
	must(t, err)
	refused := map[string]int{} // by subject and call
	for _, w := range g.everyone() {
		w.connect(g)
		for full, r := range rights {
			if strings.HasSuffix(full, "Sessions/Open") {
				continue // TestStreamsOfEveryone
			}
			method := methodOf(t, full)
			want := wantedOf(w, r)
			code, calls := g.callGRPC(w, full, method), 1
			if web, is := g.callHTTP(w, method); is {
				calls++
				if !verdict(web, want) || (want != "" && web != code) {
					t.Errorf("%s %s over HTTP: %q, want %q", w.subject, full, web, want)
				}
			}
			if !verdict(code, want) {
				t.Errorf("%s %s over gRPC: %q, want %q", w.subject, full, code, want)
			}
			if want != "" {
				refused[w.subject+" "+r.call] += calls
			}
		}
	}
	if len(refused) < 300 {
		t.Errorf("only %d pairs of caller and call were refused", len(refused))
	}
	logged := map[string]int{}
	for _, e := range g.entries() {
		switch e.Event {
		case audit.Denied:
			logged[e.Subject+" "+e.Call]++
			if local := strings.HasPrefix(e.Subject, "uid:") || e.Subject == "token:read"; !local && !strings.HasPrefix(e.Address, from) {
				t.Errorf("a caller is at %q, and not at %s: %+v", e.Address, from, e)
			}
			if e.Address == "" || e.Verb == "" || e.Detail == "" || (e.Result != api.CodeDenied && e.Result != api.CodeUnauthenticated) {
				t.Errorf("an entry lacks something: %+v", e)
			}
		case audit.Called:
			if subject, verb := e.Subject, e.Verb; !strings.HasSuffix(subject, verb) && !strings.HasPrefix(subject, "uid:") {
				t.Errorf("%s has made a call that takes %s: %+v", subject, verb, e)
			}
		}
	}
	for pair, count := range refused {
		if logged[pair] != count {
			t.Errorf("%s was refused %d times, and the audit log has %d", pair, count, logged[pair])
		}
	}
}

// TestEveryDecisionOfEveryone asks the deciding function alone, without a connection, about every call of every kind of
// caller: what proves the caller goes in, and the code of the refusal comes out.
func TestEveryDecisionOfEveryone(t *testing.T) {
	g := newGuarded(t, onePolicy, nil)
	rights, err := rightsOf()
	must(t, err)
	decided := map[string]int{}
	for _, w := range g.everyone() {
		from := guard.Caller{Bearer: w.bearer, Private: true, Address: "192.0.2.1:9"}
		if w.request != nil {
			from.Certificate = w.subject
		}
		if w.local {
			from.User = fmt.Sprintf("uid:%d", os.Getuid())
		}
		v, err := g.server.service.identify(t.Context(), "", from)
		must(t, err)
		if v.subject.Name != w.subject {
			t.Errorf("the caller is %q, want %q", v.subject.Name, w.subject)
		}
		for full, r := range rights {
			code := ""
			if err := g.server.service.permit(v, r, requestOf(methodOf(t, full))); err != nil {
				code = api.Code(err)
			}
			if want := wantedOf(w, r); code != want {
				t.Errorf("%s %s: %q, want %q", w.subject, full, code, want)
			}
			decided[code]++
		}
	}
	if decided[""] < 100 || decided[api.CodeDenied] < 300 || decided[api.CodeUnauthenticated] < 20 {
		t.Errorf("the decisions are %v", decided)
	}
}

// wantedOf returns the code of the refusal that a caller gets for a call; "" for none.
func wantedOf(w *who, r *right) string {
	switch {
	case r.free || r.verb == w.has:
		return ""
	case w.subject == access.Anonymous:
		return api.CodeUnauthenticated
	}
	return api.CodeDenied
}

// verdict reports whether a code is the wanted refusal, or none by the policy if none is wanted.
func verdict(code, want string) bool {
	if want == "" {
		return code != api.CodeDenied && code != api.CodeUnauthenticated
	}
	return code == want
}

// callGRPC makes a call, and returns the code of its refusal.
func (g *guarded) callGRPC(w *who, full string, method protoreflect.MethodDescriptor) string {
	ctx, cancel := contextWithin(g.t)
	defer cancel()
	ctx = w.context(ctx)
	answer := dynamicpb.NewMessage(method.Output())
	if !method.IsStreamingServer() {
		return codeOfStatus(w.conn.Invoke(ctx, full, requestOf(method), answer))
	}
	stream, err := w.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, full)
	must(g.t, err)
	must(g.t, stream.SendMsg(requestOf(method)))
	must(g.t, stream.CloseSend())
	if header, err := stream.Header(); err == nil && header != nil && strings.HasPrefix(string(method.Name()), "Watch") {
		return "" // it has begun
	}
	return codeOfStatus(stream.RecvMsg(answer))
}

func codeOfStatus(err error) string {
	if err == nil {
		return ""
	}
	return api.Code(api.FromStatus("", err))
}

// callHTTP makes a call over HTTP, if it has a rule for that.
func (g *guarded) callHTTP(w *who, method protoreflect.MethodDescriptor) (code string, is bool) {
	rule, _ := proto.GetExtension(method.Options(), annotations.E_Http).(*annotations.HttpRule)
	if rule == nil || w.local {
		return "", false
	}
	path := strings.NewReplacer("{space}", "default", "{name=**}", "deploy/x").Replace(rule.GetGet() + rule.GetPost())
	verb, body := http.MethodGet, io.Reader(nil)
	if rule.GetPost() != "" {
		verb, body = http.MethodPost, bytes.NewReader(g.bodyOf(method))
	}
	ctx, cancel := contextWithin(g.t)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, verb, "https://"+g.address+path, body)
	must(g.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "cert:admin") // a lie changes nothing
	if w.bearer != "" {
		r.Header.Set("Authorization", "Bearer "+w.bearer)
	}
	answer, err := w.http.Do(r)
	must(g.t, err)
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusOK {
		return "", true // it may be a feed, which does not end
	}
	text, err := io.ReadAll(answer.Body)
	must(g.t, err)
	for _, code := range []string{api.CodeDenied, api.CodeUnauthenticated} {
		if bytes.Contains(text, []byte(`"code":"`+code+`"`)) {
			return code, true
		}
	}
	return "other", true
}

// bodyOf returns the JSON of a request, without what is in the path.
func (g *guarded) bodyOf(method protoreflect.MethodDescriptor) []byte {
	var fields []string
	requestOf(method).ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.Name() != "space" || method.Name() == "CheckAccess" {
			text := v.String()
			if f.Kind() == protoreflect.MessageKind {
				text = "-1s"
			}
			fields = append(fields, fmt.Sprintf("%q:%q", f.Name(), text))
		}
		return true
	})
	slices.Sort(fields)
	return []byte("{" + strings.Join(fields, ",") + "}")
}

// TestStreamsOfEveryone opens a session as every kind of caller, and acquires a name that it may lock and one that it
// may not.
func TestStreamsOfEveryone(t *testing.T) { eachWay(t, streamsOfEveryone) }

func streamsOfEveryone(t *testing.T, g *guarded, _ string) {
	for _, w := range g.everyone() {
		w.connect(g)
		ctx, cancel := contextWithin(t)
		rpc, err := schema.NewSessionsClient(w.conn).Open(w.context(ctx))
		must(t, err)
		c := &talk{t: t, stream: rpc}
		c.say(&schema.Operation{Kind: &schema.Operation_Hello{Hello: &schema.Hello{}}})
		first := c.hear()
		if w.has != access.Lock {
			want := api.CodeDenied
			if w.subject == access.Anonymous {
				want = api.CodeUnauthenticated
			}
			if got := first.GetRefused().GetProblem().GetCode(); got != want {
				t.Errorf("%s: the hello is answered by %v, want %s", w.subject, first, want)
			}
			cancel()
			continue
		}
		if first.GetWelcome() == nil {
			t.Fatalf("%s: %v", w.subject, first)
		}
		c.say(opAcquire(1, "secret/x"), opAcquire(2, "deploy/x"))
		if p := c.refused(1, api.CodeDenied); !strings.Contains(p.GetDetail(), w.subject) || !strings.Contains(p.GetDetail(), `"secret/x"`) {
			t.Errorf("the refusal says %q", p.GetDetail())
		}
		token := c.granted(2).GetToken()
		c.say(opRelease(2, "deploy/x", token))
		c.released(2)
		cancel()
	}
}

// TestHolderIsConcealed: a caller that may not read a name learns only that it is held.
func TestHolderIsConcealed(t *testing.T) {
	g := newGuarded(t, strings.Replace(onePolicy, `"group:https://login.example#lockers"]`, `"token:other"]`, 1), nil)
	holder, other := &who{subject: "token:lock", bearer: g.secrets["lock"]}, &who{bearer: g.secrets["other"]}
	holder.connect(g)
	other.connect(g)
	ctx, cancel := contextWithin(t)
	defer cancel()
	name, reason := "deploy/x", "a secret reason"
	_, err := schema.NewLocksClient(holder.conn).Acquire(holder.context(ctx), &schema.AcquireRequest{Name: &name, Owner: "the owner", Reason: reason})
	must(t, err)
	_, err = schema.NewLocksClient(other.conn).Acquire(other.context(ctx), &schema.AcquireRequest{Name: &name})
	if text := fmt.Sprint(err); codeOfStatus(err) != api.CodeHeld || strings.Contains(text, "the owner") {
		t.Errorf("the call is refused by %v", err)
	}
	rpc, err := schema.NewSessionsClient(other.conn).Open(other.context(ctx))
	must(t, err)
	c := &talk{t: t, stream: rpc}
	c.say(&schema.Operation{Kind: &schema.Operation_Hello{Hello: &schema.Hello{}}})
	if c.hear().GetWelcome() == nil {
		t.Fatal("no welcome")
	}
	c.say(opTry(1, name))
	if p := c.refused(1, api.CodeHeld); p.GetOwner() != "" || p.GetMember() != "" || p.GetSince() != 0 || p.GetReason() != "" {
		t.Errorf("the operation is refused by %v", p)
	}
}
