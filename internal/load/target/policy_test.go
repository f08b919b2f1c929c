package target

import (
	"testing"

	"github.com/holdfast-locks/holdfast/internal/access"
)

// TestPolicy: the policy has as many rules as it says, and a caller without credentials has all of them.
func TestPolicy(t *testing.T) {
	p, err := access.Parse(policyOf(Rules))
	if err != nil {
		t.Fatal(err)
	}
	anyone := p.Rights(access.Subject{Name: access.Anonymous})
	if got := len(anyone.Roles()); got != Rules/100 {
		t.Errorf("a caller has %d roles, want %d", got, Rules/100)
	}
	for name, want := range map[string]bool{
		"bench/1": true, "bench/hot": true, "team-7/service-14/eu/1": true, "team-7/eu/production-10": true, "team-7/nightly-11": true,
		"team-7/web-eu-12": true, "x/shared-7-13": true, "team-7/service-10/x": false, "team-7/nightly-12": false, "bench": true, "benc": false,
	} {
		if got := anyone.May(access.Lock, "default", name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if p.Rights(access.Subject{Name: "token:team-7"}).May(access.Lock, "default", "team-8/service-14/x") {
		t.Error("a team has the rules of another one")
	}
	if warnings := p.Warnings(); len(warnings) > 3 { // no grant gives the verbs of operators
		t.Errorf("the policy has warnings: %v", warnings)
	}
}
