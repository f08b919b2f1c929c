package storelock_test

import (
	"context"
	"fmt"
	"log"

	"github.com/holdfast-locks/holdfast/storage/memory"
	"github.com/holdfast-locks/holdfast/storelock"
)

// Two programs that use one store exclude each other, without any member.
func ExampleOpen() {
	ctx := context.Background()
	store := memory.New(memory.Config{})
	locks, err := storelock.Open(ctx, store, storelock.CAS())
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()
	lock, err := locks.Lock(ctx, "invoices/7")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("class:", locks.Class())
	fmt.Println("unlock:", lock.Unlock(ctx))
	// Output:
	// class: fenced
	// unlock: <nil>
}
