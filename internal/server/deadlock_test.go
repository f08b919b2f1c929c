package server

import (
	"strings"
	"testing"
)

// TestDeadlock checks that a request with deadlock fail that would close a cycle is refused with the cycle, over HTTP.
func TestDeadlock(t *testing.T) {
	b := newWebHarness(t, nil)
	one := b.acquire(object{"name": "a", "ttl": "1m", "owner": "job-1"}).text("session")
	two := b.acquire(object{"name": "b", "ttl": "1m", "owner": "job-2"}).text("session")
	events := b.watch()
	waits := b.start(acquirePath, object{"name": "b", "wait": "50s", "session": one, "owner": "job-1"})
	events.until(eventWaiting, "b")
	refused := b.post(409, acquirePath, object{"name": "a", "wait": "50s", "session": two, "owner": "job-2", "deadlock": "fail"})
	if refused.text("code") != "deadlock" || !strings.Contains(refused.raw, `owner \"job-2\" holds \"b\", for which owner \"job-1\" waits, which holds \"a\"`) {
		t.Errorf("it is refused with %s", refused.raw)
	}
	for _, step := range []string{`"owner":"job-2"`, `"name":"a"`, `"owner":"job-1"`, `"name":"b"`, `"session":"` + public(one) + `"`} {
		if !strings.Contains(refused.raw, step) {
			t.Errorf("its cycle lacks %s: %s", step, refused.raw)
		}
	}
	if answer := b.post(400, acquirePath, object{"name": "c", "deadlock": "maybe"}); answer.text("code") != "bad_request" {
		t.Errorf("another policy: %s", answer.raw)
	}
	b.acquire(object{"name": "c", "session": two, "deadlock": "fail"})
	b.post(200, "/v1/sessions/end", object{"session": two})
	waits.wants(t, 200)
}

// public returns the id of a session, without its secret.
func public(session string) string {
	id, _, _ := strings.Cut(session, ".")
	return id
}
