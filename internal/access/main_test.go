package access

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// parse parses a file that must be good.
func parse(t testing.TB, text string) *Policy {
	t.Helper()
	p, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// rights returns the rights of some rules, without a file.
func rights(rules ...Rule) *Rights { return &Rights{roles: []*role{{rules: rules}}} }

// example is the file of doc.go.
const example = `roles:
  deployers: {rules: [{space: default, names: ["deploy/**"], verbs: [lock, read]}]}
  readers:   {rules: [{space: "*", names: ["**"], verbs: [read]}]}
  sre:       {rules: [{space: "*", names: ["**"], verbs: [lock, read, break, operate, admin]}]}
grants:
  - {role: deployers, to: ["cert:job-*", "token:ci"]}
  - {role: readers,   to: ["*"]}
  - {role: sre,       to: ["jwt:https://login.example#ops", "group:https://login.example#sre", "uid:0"]}
quotas:
  - {to: ["token:ci"], sessions: 100, locks: 10000, waiters: 1000, requests_per_second: 500}
issuers:
  - {issuer: "https://login.example", audience: holdfast, groups: groups}
tests:
  - {subject: "token:ci", verb: lock, space: default, name: [deploy/web, deploy/db/eu], allowed: true}
  - {subject: "token:ci", verb: [break, operate], space: default, name: deploy/web, allowed: false}
`
