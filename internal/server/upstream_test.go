package server_test

import "testing"

// TestUpstreamOverHTTP plays those of Hazelcast's AbstractFencedLockFailureTest by name that a request with an id can say, over real
// sockets, in a space whose sessions outlast their member: what is sent again acts once.
func TestUpstreamOverHTTP(t *testing.T) {
	m := serveKept(t)
	free := func(t *testing.T, name string) {
		t.Helper()
		if shown := m.roundTrip(200, "GET", "/v1/spaces/default/locks/"+name, nil); len(holders(shown)) != 0 {
			t.Errorf("it is held still: %s", shown.text)
		}
	}
	release := func(a *answer) object {
		return object{"name": a.object["name"], "token": a.object["token"], "session": a.object["session"]}
	}
	same := func(t *testing.T, first, again *answer) {
		t.Helper()
		for _, field := range []string{"token", "session"} {
			if first.object[field] != again.object[field] {
				t.Errorf("%s is %v, and was %v", field, again.object[field], first.object[field])
			}
		}
	}
	t.Run("testLockAcquireRetry", func(t *testing.T) {
		body := object{"name": "a", "request": "r-1", "ttl": "1m"}
		first := m.post(200, acquirePath, body)
		same(t, first, m.post(200, acquirePath, body))
		m.post(200, "/v1/spaces/default/release", release(first))
		free(t, "a")
	})
	t.Run("testLockReentrantAcquireRetry", func(t *testing.T) {
		first := m.post(200, acquirePath, object{"name": "b", "owner": "j", "ttl": "1m"})
		again := object{"name": "b", "owner": "j", "session": first.object["session"], "request": "r-2"}
		second := m.post(200, acquirePath, again)
		same(t, first, second)
		same(t, second, m.post(200, acquirePath, again))
		m.post(200, "/v1/spaces/default/release", release(first))
		if shown := m.roundTrip(200, "GET", "/v1/spaces/default/locks/b", nil); len(holders(shown)) != 1 {
			t.Errorf("after one release of two holds: %s", shown.text)
		}
		m.post(200, "/v1/spaces/default/release", release(second))
		free(t, "b")
	})
	t.Run("testRetriedUnlockIsSuccessfulAfterLockedByAnotherEndpoint", func(t *testing.T) {
		first := m.post(200, acquirePath, object{"name": "c", "ttl": "1m"})
		m.post(200, "/v1/spaces/default/release", release(first))
		other := m.post(200, acquirePath, object{"name": "c", "ttl": "1m"})
		// Ours: its session has ended with its last lock, so that is the answer, and it frees nothing.
		if again := m.post(404, "/v1/spaces/default/release", release(first)); again.object["code"] != "unknown_session" {
			t.Errorf("a release that is sent again: %s", again.text)
		}
		if shown := m.roundTrip(200, "GET", "/v1/spaces/default/locks/c", nil); len(holders(shown)) != 1 || holders(shown)[0]["token"] != other.object["token"] {
			t.Errorf("the next holder: %s", shown.text)
		}
	})
}

// holders are those that an answer shows.
func holders(a *answer) (all []object) {
	list, _ := a.object["holders"].([]any)
	for _, one := range list {
		all = append(all, one.(object))
	}
	return all
}
