// Package certmagic gives a storage of github.com/caddyserver/certmagic the locks of Holdfast: of several servers that
// share certificates one obtains or renews each, and the others wait for it and use the result.
//
//	storage := holdfastmagic.New(&certmagic.FileStorage{Path: folder}, locks)
//	config := certmagic.New(cache, certmagic.Config{
//		Storage: storage,
//		Issuers: []certmagic.Issuer{issuer},
//	})
//	return config.ManageSync(ctx, []string{"example.com"})
//
// holdfastmagic is this package. The locks are those of any [holdfast.Locker]: those of a store, too, if the
// certificates are in one. All servers need the same storage and the same locks.
//
// What differs from the locks of FileStorage: they do not depend on the clocks of the servers, nor on what a shared file
// system promises about the creation of files; a server that dies holds up the others for as long as its session lives;
// one that stalls for longer has lost its lock, and learns of it.
//
// # Loss
//
// certmagic has no way to stop a task whose lock was lost. It learns of the loss at the next attempt of a task that is
// repeated (RenewLockLease), which then ends with that error, and at Unlock, whose error certmagic logs. Both are an
// ErrLost with its reason. Until then two servers may obtain the same certificate, of which the storage keeps the later.
package certmagic
