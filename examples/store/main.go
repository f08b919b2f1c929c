// Store takes locks in a store that you run already, without any member.
//
//	go run ./examples/store /tmp/locks
//	go run ./examples/store redis://localhost:6379/0
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/holdfast-locks/holdfast/storage/open"
	"github.com/holdfast-locks/holdfast/storelock"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: store URL")
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url string) (err error) {
	store, err := open.Open(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()

	locks, err := storelock.Open(ctx, store, storelock.CAS())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, locks.Close()) }()

	lock, err := locks.Lock(ctx, "nightly-report")
	if err != nil {
		return err
	}
	fmt.Println("class:", locks.Class(), "token:", lock.Token() > 0)
	return lock.Unlock(ctx)
}
