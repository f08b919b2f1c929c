package server_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestSuspendASpaceOfShards: what is still held is named whichever shard has it, nothing is granted in any until it is
// resumed, and the status shows it as one suspension.
func TestSuspendASpaceOfShards(t *testing.T) {
	m := serveKept(t)
	names := []string{"a", "b", "c", "d", "e", "f"} // some in each shard
	for _, name := range names {
		got := m.post(200, acquirePath, object{"name": name, "owner": "job-7"})
		if held := m.post(409, "/v1/spaces/default/suspend", object{"wait": "0s"}); !strings.Contains(held.text, `lock \"`+name+`\" is still held by job-7 on embedded since`) {
			t.Errorf("while %s is held: %s", name, held.text)
		}
		m.post(200, "/v1/sessions/end", object{"session": got.object["session"]})
	}
	suspended := m.post(200, "/v1/spaces/default/suspend", object{"reason": "restore", "wait": "1m"})
	by, _ := suspended.object["suspension"].(object)
	if suspended.object["changed"] != true || by["owner"] != "operator" || by["reason"] != "restore" {
		t.Errorf("suspended: %s", suspended.text)
	}
	status := m.roundTrip(200, http.MethodGet, "/v1/status", nil)
	space, _ := status.object["spaces"].([]any)[0].(object)
	if suspension, _ := space["suspension"].(object); space["state"] != "suspended" || suspension["token"] != by["token"] || space["locks"] != 0.0 {
		t.Errorf("space: %v", space)
	}
	if listed := m.roundTrip(200, http.MethodGet, "/v1/spaces/default/locks", nil); strings.Contains(listed.text, "operator") {
		t.Errorf("a suspension is listed as a lock: %s", listed.text)
	}
	for _, name := range names {
		if held := m.post(409, acquirePath, object{"name": name}); held.object["owner"] != "operator" {
			t.Errorf("%s: %s", name, held.text)
		}
	}
	if again := m.post(200, "/v1/spaces/default/suspend", object{}); again.object["changed"] != false {
		t.Errorf("again: %s", again.text)
	}
	resumed := m.post(200, "/v1/spaces/default/resume", object{})
	if suspension, _ := resumed.object["suspension"].(object); resumed.object["changed"] != true || suspension["token"] != by["token"] {
		t.Errorf("resumed: %s", resumed.text)
	}
	for _, name := range names {
		m.post(200, acquirePath, object{"name": name})
	}
}
