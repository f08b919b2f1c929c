package certmagic_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddyserver/certmagic"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/holdfast-locks/holdfast"
	holdfastmagic "github.com/holdfast-locks/holdfast/contrib/certmagic"
	"github.com/holdfast-locks/holdfast/holdfasttest"
)

// TestTwoServersObtain checks that two servers which need the same certificates at the same time obtain each once, by
// certmagic's own loop, and that both have it then.
func TestTwoServersObtain(t *testing.T) {
	locks := holdfasttest.New(t)
	folder := t.TempDir()
	issuer := newIssuer(t)
	var all sync.WaitGroup
	for _, server := range []string{"a", "b"} {
		config := certmagic.New(newCache(t), certmagic.Config{
			Storage: holdfastmagic.New(&certmagic.FileStorage{Path: folder}, locks.Client(server)),
			Issuers: []certmagic.Issuer{issuer}, Logger: zap.NewNop(),
		})
		for n := range 8 {
			all.Go(func() {
				name := fmt.Sprintf("%d.example.com", n)
				if err := config.ObtainCertSync(t.Context(), name); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if _, err := config.CacheManagedCertificate(t.Context(), name); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
	}
	all.Wait()
	if len(issuer.issued) != 8 {
		t.Errorf("issued: %v", issuer.issued)
	}
	for n := range 8 {
		if name := fmt.Sprintf("%d.example.com", n); issuer.issued[name] != 1 {
			t.Errorf("%s was issued %d times", name, issuer.issued[name])
		}
	}
}

// TestLossWhileObtaining checks that a server whose lock is lost while it obtains a certificate does not keep another one
// from obtaining it, and that certmagic logs the loss.
func TestLossWhileObtaining(t *testing.T) {
	locks := holdfasttest.New(t)
	stalled := locks.Client("a")
	storage := holdfastmagic.New(&certmagic.FileStorage{Path: t.TempDir()}, stalled)
	issuer := newIssuer(t)
	issuer.during = func(string) {
		stalled.Expire()
		err := storage.RenewLockLease(t.Context(), "issue_cert_example.com", time.Minute)
		if holdfast.Why(err) != holdfast.SessionExpired {
			t.Errorf("the next attempt: %v", err)
		}
		other := holdfastmagic.New(storage.Storage, locks.Client("b"))
		if free, err := other.TryLock(t.Context(), "issue_cert_example.com"); err != nil || !free {
			t.Errorf("another server: %t %v", free, err)
		}
		if err := other.Unlock(t.Context(), "issue_cert_example.com"); err != nil {
			t.Error(err)
		}
	}
	core, logged := observer.New(zap.ErrorLevel)
	config := certmagic.New(newCache(t), certmagic.Config{Storage: storage, Issuers: []certmagic.Issuer{issuer}, Logger: zap.New(core)})
	if err := config.ObtainCertSync(t.Context(), "example.com"); err != nil {
		t.Error(err)
	}
	if all := logged.All(); len(all) != 1 || !strings.Contains(fmt.Sprint(all[0].ContextMap()["error"]), "lost: session expired") {
		t.Errorf("certmagic has logged %v", all)
	}
	if err := storage.Unlock(t.Context(), "issue_cert_example.com"); !errors.Is(err, holdfast.ErrNotHeld) {
		t.Errorf("certmagic has not unlocked: %v", err)
	}
}

// TestTheirs has the scenario of certmagic's own TestFileStorageWriteLock, over two servers: a lock that is held is
// refused to a context that has ended, and granted after Unlock.
func TestTheirs(t *testing.T) {
	locks := holdfasttest.New(t)
	a := holdfastmagic.New(&certmagic.FileStorage{Path: t.TempDir()}, locks.Client("a"))
	b := holdfastmagic.New(a.Storage, locks.Client("b"))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 {
		if err := a.Lock(t.Context(), "foo"); err != nil {
			t.Fatal(err)
		}
		for _, s := range []*holdfastmagic.Storage{a, b} {
			if err := s.Lock(ended, "foo"); !errors.Is(err, context.Canceled) {
				t.Errorf("a held lock: %v", err)
			}
			if free, err := s.TryLock(t.Context(), "foo"); err != nil || free {
				t.Errorf("a held lock: %t %v", free, err)
			}
		}
		if err := a.RenewLockLease(t.Context(), "foo", time.Minute); err != nil {
			t.Error(err)
		}
		if err := a.Unlock(t.Context(), "foo"); err != nil {
			t.Error(err)
		}
	}
	for _, err := range []error{a.Unlock(t.Context(), "foo"), b.RenewLockLease(t.Context(), "foo", time.Minute)} {
		if !errors.Is(err, holdfast.ErrNotHeld) {
			t.Errorf("a lock that is not held: %v", err)
		}
	}
}

// TestLoss checks that a loss is reported at Unlock, and that no task releases the lock of another one: two of the same
// server have locked the same name, since the first has lost it.
func TestLoss(t *testing.T) {
	locks := holdfasttest.New(t)
	server := locks.Client("a")
	s := holdfastmagic.New(&certmagic.FileStorage{Path: t.TempDir()}, server)
	if err := s.Lock(t.Context(), "foo"); err != nil {
		t.Fatal(err)
	}
	server.Expire()
	if err := s.Lock(t.Context(), "foo"); err != nil {
		t.Fatal(err)
	}
	if err := s.Unlock(t.Context(), "foo"); holdfast.Why(err) != holdfast.SessionExpired {
		t.Errorf("the lost lock: %v", err)
	}
	if free, err := holdfastmagic.New(s.Storage, locks.Client("b")).TryLock(t.Context(), "foo"); err != nil || free {
		t.Errorf("the lock that is held is taken: %t %v", free, err)
	}
	if err := s.Unlock(t.Context(), "foo"); err != nil {
		t.Error(err)
	}
}

// TestErrors checks that errors other than a held lock are passed on.
func TestErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := holdfasttest.New(t)
		s := holdfastmagic.New(&certmagic.FileStorage{}, locks)
		if err := s.Lock(t.Context(), ""); !errors.Is(err, holdfast.ErrName) {
			t.Errorf("an empty name: %v", err)
		}
		locks.Pause()
		if free, err := s.TryLock(t.Context(), "foo"); free || !errors.Is(err, holdfast.ErrUnavailable) {
			t.Errorf("without an authority: %t %v", free, err)
		}
		locks.Resume()
	})
}
