package target

import (
	"fmt"
	"os"
	"strings"
)

// Policed is the target whose member has a policy of many rules.
const Policed = "remote-access"

// Rules is how many rules that policy has.
const Rules = 10_000

// policy makes the file of a policy, and returns its path.
func (b *Harness) policy() (path string, err error) {
	path = b.fresh("access") + ".yaml"
	if err := os.WriteFile(path, policyOf(Rules), 0o600); err != nil {
		return "", fmt.Errorf("write a policy: %w", err)
	}
	return path, nil
}

// policyOf returns a policy of many rules, of 100 for each team: most for what is below one of its services, and some
// for one name, for one part of every service, for parts that begin alike, and for a part below everything. A caller
// without credentials has all of them, so each decision follows a name through the tree of all rules, and two of them
// give it the names of the bench.
func policyOf(rules int) []byte {
	var roles, grants strings.Builder
	roles.WriteString("roles:\n")
	grants.WriteString("grants:\n")
	for i := range rules {
		team, number := i/100, i%100
		if number == 0 {
			fmt.Fprintf(&roles, "  team-%d:\n    rules:\n", team)
			fmt.Fprintf(&grants, "  - {role: team-%d, to: [\"token:team-%d\", anonymous]}\n", team, team)
		}
		pattern, space := fmt.Sprintf("team-%d/service-%d/**", team, number), "default"
		switch number % 10 {
		case 0:
			pattern = fmt.Sprintf("team-%d/*/production-%d", team, number)
		case 1:
			pattern = fmt.Sprintf("team-%d/nightly-%d", team, number)
		case 2:
			pattern, space = fmt.Sprintf("team-%d/web-*-%d", team, number), "*"
		case 3:
			pattern = fmt.Sprintf("*/shared-%d-%d", team, number)
		}
		if i == rules/3 {
			pattern = "bench/**"
		}
		if i == rules/2 {
			pattern = "ben*/*"
		}
		fmt.Fprintf(&roles, "      - {space: %q, names: %q, verbs: [lock, read]}\n", space, pattern)
	}
	return []byte(roles.String() + grants.String())
}
