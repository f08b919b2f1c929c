package terraform_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/contrib/terraform"
	"github.com/holdfast-locks/holdfast/holdfasttest"
)

// open opens a folder of states that is closed with the test.
func open(t *testing.T, folder string) *terraform.Folder {
	t.Helper()
	states, err := terraform.OpenFolder(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := states.Close(); err != nil {
			t.Error(err)
		}
	})
	return states
}

// call sends one request, with a body unless it is "", and returns the status and the body of the answer.
func call(h http.Handler, method, target, body string) (status int, answer string) {
	request := httptest.NewRequest(method, target, strings.NewReader(body))
	return send(h, request)
}

func send(h http.Handler, request *http.Request) (status int, answer string) {
	recorder := httptest.NewRecorder()
	http.StripPrefix("/states/", h).ServeHTTP(recorder, request)
	return recorder.Code, strings.TrimSuffix(recorder.Body.String(), "\n")
}

// expect sends one request, and compares the status and a part of the answer.
func expect(t *testing.T, h http.Handler, method, target, body string, status int, part string) {
	t.Helper()
	if got, answer := call(h, method, target, body); got != status || !strings.Contains(answer, part) {
		t.Errorf("%s %s: %d %s, want %d and %q", method, target, got, answer, status, part)
	}
}

// info returns a lock info.
func info(id string) string {
	return `{"ID":"` + id + `","Operation":"OperationTypePlan","Who":"` + id + `@host","Path":""}`
}

// TestConversations replays what Terraform and OpenTofu have sent, with the methods that are their defaults.
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d conversations: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			h := terraform.New(holdfasttest.New(t), open(t, t.TempDir()))
			for at, exchange := range strings.Split(string(text), "\n\n") {
				if !strings.HasPrefix(exchange, "#") {
					replay(t, h, at, exchange)
				}
			}
		})
	}
}

// replay sends one request of a conversation, and compares the answer. Lines of the request begin with >: the method and
// the target, the headers, the body. Those of the answer begin with <: the status, the body.
func replay(t *testing.T, h http.Handler, at int, exchange string) {
	t.Helper()
	var asked, answered []string
	for line := range strings.Lines(exchange) {
		line = strings.TrimSuffix(line, "\n")
		if question, is := strings.CutPrefix(line, "> "); is {
			asked = append(asked, question)
		} else {
			answered = append(answered, strings.TrimPrefix(line, "< "))
		}
	}
	method, target, _ := strings.Cut(asked[0], " ")
	body := ""
	header := http.Header{}
	for _, line := range asked[1:] {
		if name, value, is := strings.Cut(line, ": "); is && !strings.HasPrefix(line, "{") {
			header.Set(name, value)
		} else {
			body = line
		}
	}
	request := httptest.NewRequest(method, target, strings.NewReader(body))
	request.Header = header
	status, answer := send(h, request)
	got := strings.TrimSuffix(fmt.Sprintf("%d\n%s", status, answer), "\n")
	if want := strings.Join(answered, "\n"); got != want {
		t.Errorf("exchange %d, %s %s:\n%s\nwant\n%s", at, method, target, got, want)
	}
}

// TestLost checks that a lost lock is reported to each request that names it, and that another one is granted.
func TestLost(t *testing.T) {
	locks := holdfasttest.New(t)
	h := terraform.New(locks, open(t, t.TempDir()))
	expect(t, h, "LOCK", "/states/prod", info("a"), 200, "")
	expect(t, h, "POST", "/states/prod?ID=a", `{"serial":1}`, 200, "")
	locks.Expire()
	expect(t, h, "POST", "/states/prod?ID=a", `{"serial":2}`, 409, `state "prod": lock "terraform/prod": lost: session expired`)
	expect(t, h, "DELETE", "/states/prod?ID=a", "", 409, "lost: session expired")
	expect(t, h, "UNLOCK", "/states/prod", info("a"), 409, "lost: session expired")
	expect(t, h, "GET", "/states/prod", "", 200, `{"serial":1}`)
	expect(t, h, "LOCK", "/states/prod", info("b"), 200, "")
	expect(t, h, "POST", "/states/prod?ID=a", `{"serial":2}`, 423, info("b"))
	expect(t, h, "UNLOCK", "/states/prod", info("a"), 409, info("b"))
	expect(t, h, "POST", "/states/prod?ID=b", `{"serial":3}`, 200, "")
	locks.Break("terraform/prod")
	expect(t, h, "POST", "/states/prod?ID=b", `{"serial":4}`, 409, "lost: broken")
	expect(t, h, "GET", "/states/prod", "", 200, `{"serial":3}`)
}

// TestRepeated checks that requests which are sent again, because their answers were lost, change nothing.
func TestRepeated(t *testing.T) {
	locks := holdfasttest.New(t)
	h := terraform.New(locks, open(t, t.TempDir()))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { expect(t, h, "LOCK", "/states/prod", info("a"), 200, "") })
	}
	all.Wait()
	if values := locks.Values("terraform/prod"); len(values) != 1 || values[0] != info("a") {
		t.Errorf("the lock has the values %q", values)
	}
	for range 3 {
		expect(t, h, "UNLOCK", "/states/prod", info("a"), 200, "")
	}
	if values := locks.Values("terraform/prod"); len(values) != 0 {
		t.Errorf("the lock is held after UNLOCK: %q", values)
	}
	expect(t, h, "LOCK", "/states/prod", info("b"), 200, "")
	expect(t, h, "UNLOCK", "/states/prod", info("a"), 409, info("b"))
	expect(t, h, "UNLOCK", "/states/prod", "", 200, "")
	for _, method := range []string{"POST", "DELETE"} {
		expect(t, h, method, "/states/prod?ID=a", "{}", 409, `does not hold a lock with ID "a"`)
	}
	expect(t, h, "UNLOCK", "/states/prod", info("a"), 409, `does not hold a lock with ID "a"`)
}

// TestTwoProcesses checks that handlers with sessions of their own exclude each other, and show each other's holders.
func TestTwoProcesses(t *testing.T) {
	locks := holdfasttest.New(t)
	folder := t.TempDir()
	a := terraform.New(locks.Client("a"), open(t, folder))
	b := terraform.New(locks.Client("b"), open(t, folder))
	blind := terraform.New(struct{ holdfast.Locker }{locks.Client("c")}, open(t, folder)) // it is no holdfast.Observer
	expect(t, a, "LOCK", "/states/prod", info("one"), 200, "")
	expect(t, b, "LOCK", "/states/prod", info("two"), 423, info("one"))
	expect(t, blind, "LOCK", "/states/prod", info("two"), 423, `{"ID":"one","Who":"",`)
	expect(t, b, "POST", "/states/prod", `{"serial":1}`, 423, info("one"))
	expect(t, b, "POST", "/states/prod?ID=one", `{"serial":1}`, 409, `does not hold a lock with ID "one"`)
	expect(t, b, "UNLOCK", "/states/prod", info("one"), 409, `break "terraform/prod"`)
	expect(t, a, "POST", "/states/prod?ID=one", `{"serial":2}`, 200, "")
	expect(t, a, "UNLOCK", "/states/prod", info("one"), 200, "")
	expect(t, b, "GET", "/states/prod", "", 200, `{"serial":2}`)
	expect(t, b, "LOCK", "/states/prod", info("two"), 200, "")
	expect(t, b, "UNLOCK", "/states/prod", info("two"), 200, "")
}

// paused are States whose next write waits, as in a process that stands still between its last look at the lock and
// the write.
type paused struct {
	terraform.States
	writing, resume chan struct{}
}

func (p *paused) Write(ctx context.Context, name string, token holdfast.Token, state []byte) error {
	p.writing <- struct{}{}
	<-p.resume
	return p.States.Write(ctx, name, token, state)
}

// TestStaleWrite checks that a handler that was paused does not overwrite the state of the next holder, nor one that the
// next holder has only read so far.
func TestStaleWrite(t *testing.T) {
	locks := holdfasttest.New(t)
	folder := t.TempDir()
	late := &paused{open(t, folder), make(chan struct{}), make(chan struct{})}
	holder := locks.Client("a")
	a, b := terraform.New(holder, late), terraform.New(locks.Client("b"), open(t, folder))
	expect(t, a, "LOCK", "/states/prod", info("one"), 200, "")
	done := make(chan struct{})
	go func() {
		defer close(done)
		expect(t, a, "POST", "/states/prod?ID=one", `{"serial":1}`, 409, "stale token")
	}()
	<-late.writing
	holder.Expire()
	expect(t, b, "LOCK", "/states/prod", info("two"), 200, "")
	expect(t, b, "GET", "/states/prod", "", 404, "does not exist")
	late.resume <- struct{}{}
	<-done
	expect(t, b, "GET", "/states/prod", "", 404, "does not exist")
	expect(t, b, "POST", "/states/prod?ID=two", `{"serial":2}`, 200, "")
	expect(t, b, "UNLOCK", "/states/prod", info("two"), 200, "")
}

// TestBadInput checks that each refusal names what is wrong.
func TestBadInput(t *testing.T) {
	h := terraform.New(holdfasttest.New(t), open(t, t.TempDir()))
	for _, tt := range []struct {
		method, target, body string
		status               int
		part                 string
	}{
		{"PATCH", "/states/prod", "", 405, "method PATCH: want GET, POST"},
		{"GET", "/states/", "", 400, "a part is empty"},
		{"GET", "/states/a//b", "", 400, "a part is empty"},
		{"GET", "/states/../etc/passwd", "", 400, "may not begin with a dot"},
		{"GET", "/states/a%20b", "", 400, `" " is not allowed`},
		{"GET", "/states/a.tfstate", "", 400, "nor end in .tfstate or .token"},
		{"POST", "/states/prod", "", 400, "the body is empty; send a state, or DELETE it"},
		{"LOCK", "/states/prod", "", 400, "the body is no lock info"},
		{"LOCK", "/states/prod", "{", 400, "the body is no lock info"},
		{"LOCK", "/states/prod", `{"Who":"me"}`, 400, "it has no ID"},
		{"LOCK", "/states/prod", info(strings.Repeat("x", holdfast.MaxText+1)), 400, "owner has 1025 bytes; 1024 are allowed"},
		{"LOCK", "/states/prod", info(strings.Repeat("x", holdfast.MaxValue)), 413, "too large"},
		{"UNLOCK", "/states/prod", "{", 400, "the body is no lock info"},
		{"UNLOCK", "/states/prod", "", 409, "does not hold a lock"},
		{"POST", "/states/prod?ID=none", "{}", 409, `does not hold a lock with ID "none"`},
		{"LOCK", "/states/" + strings.Repeat("x", holdfast.MaxName), info("a"), 400, "512 are allowed"},
	} {
		expect(t, h, tt.method, tt.target, tt.body, tt.status, tt.part)
	}
	request := httptest.NewRequest("POST", "/states/prod", strings.NewReader("{}"))
	request.Header.Set("Content-MD5", "AAAA")
	if status, answer := send(h, request); status != 400 || !strings.Contains(answer, `its Content-MD5 is "AAAA"`) {
		t.Errorf("another digest: %d %s", status, answer)
	}
	expect(t, h, "GET", "/states/prod", "", 404, "")
}

// TestUnavailable checks that a LOCK without an authority is answered as one that may be tried again, and so is one
// whose client was closed.
func TestUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := holdfasttest.New(t)
		client := locks.Client("a")
		h := terraform.New(client, open(t, t.TempDir()))
		locks.Pause()
		began := time.Now()
		expect(t, h, "LOCK", "/states/prod", info("a"), 503, "unavailable")
		if time.Since(began) > 5*time.Second {
			t.Errorf("the refusal came after %v", time.Since(began))
		}
		locks.Resume()
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		expect(t, h, "LOCK", "/states/prod", info("a"), 503, "closed")
	})
}

// broken are States that fail.
type broken struct{ err error }

func (b broken) Read(context.Context, string) ([]byte, error)                { return nil, b.err }
func (b broken) Fence(context.Context, string, holdfast.Token) error         { return b.err }
func (b broken) Write(context.Context, string, holdfast.Token, []byte) error { return b.err }

// TestBrokenStates checks that the errors of States reach the client, and that no lock stays behind.
func TestBrokenStates(t *testing.T) {
	for _, tt := range []struct {
		err    error
		status int
	}{
		{errors.New("disk on fire"), 500}, {fs.ErrPermission, 500}, {context.DeadlineExceeded, 503}, {holdfast.ErrDenied, 403},
	} {
		h := terraform.New(holdfasttest.New(t), broken{tt.err})
		expect(t, h, "GET", "/states/prod", "", tt.status, tt.err.Error())
		expect(t, h, "LOCK", "/states/prod", info("a"), tt.status, tt.err.Error())
		expect(t, h, "POST", "/states/prod", "{}", tt.status, tt.err.Error())
	}
}
