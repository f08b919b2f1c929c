package access

import (
	"os"
	"strings"
	"testing"
)

// TestPoliciesOfThePage reads the policies of docs/operations/access.md: each is valid, has no part without effect, and
// its own tests hold.
func TestPoliciesOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations/access.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "\n```yaml\n")[1:]
	if len(blocks) != 3 {
		t.Fatalf("the page has %d policies", len(blocks))
	}
	for i, block := range blocks {
		text, _, closed := strings.Cut(block, "\n```\n")
		p, err := Parse([]byte(text))
		if err != nil || !closed {
			t.Errorf("policy %d: %v", i+1, err)
			continue
		}
		if p.Assertions() < 5 {
			t.Errorf("policy %d has %d assertions", i+1, p.Assertions())
		}
		for _, failure := range p.Test() {
			t.Errorf("policy %d: %v", i+1, failure)
		}
		for _, warning := range p.Warnings() {
			t.Errorf("policy %d: %v", i+1, warning)
		}
	}
}
