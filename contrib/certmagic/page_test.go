package certmagic_test

import (
	"context"
	"testing"

	"github.com/caddyserver/certmagic"

	"github.com/holdfast-locks/holdfast"
	holdfastmagic "github.com/holdfast-locks/holdfast/contrib/certmagic"
	"github.com/holdfast-locks/holdfast/holdfasttest"
	"github.com/holdfast-locks/holdfast/internal/test/page"
)

// manage is the example of the pages.
func manage(ctx context.Context, locks holdfast.Locker, folder string, cache *certmagic.Cache, issuer certmagic.Issuer) error {
	// page
	storage := holdfastmagic.New(&certmagic.FileStorage{Path: folder}, locks)
	config := certmagic.New(cache, certmagic.Config{
		Storage: storage,
		Issuers: []certmagic.Issuer{issuer},
	})
	return config.ManageSync(ctx, []string{"example.com"})
	// end of page
}

// TestPage checks that the pages show an example that works.
func TestPage(t *testing.T) {
	page.Check(t, "doc.go", "../../docs/integrations.md")
	issuer := newIssuer(t)
	if err := manage(t.Context(), holdfasttest.New(t), t.TempDir(), newCache(t), issuer); err != nil {
		t.Error(err)
	}
	if issuer.issued["example.com"] != 1 {
		t.Errorf("issued: %v", issuer.issued)
	}
}
