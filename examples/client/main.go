// Client takes a lock from a member, and stops its work as soon as the lock is lost.
//
//	holdfast serve &
//	go run ./examples/client
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
)

func main() {
	if err := run(context.Background(), cmp.Or(os.Getenv("HOLDFAST_SERVER"), "localhost:4040")); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, server string) (err error) {
	locks, err := client.Dial(ctx, server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, locks.Close()) }()

	lock, err := locks.Lock(ctx, "orders/42", holdfast.Wait(10*time.Second), holdfast.Reason("shipping"))
	if errors.Is(err, holdfast.ErrHeld) {
		fmt.Println("another client has the order:", err) // it names the holder
		return nil
	}
	if err != nil {
		return err
	}
	for step := 1; step <= 3; step++ {
		if err := work(lock.Context(), step); err != nil {
			return err // the lock is lost: the error says why
		}
	}
	return lock.Unlock(ctx)
}

// work is a step that ends early where ctx does.
func work(ctx context.Context, step int) error {
	select {
	case <-time.After(10 * time.Millisecond):
		fmt.Println("step", step)
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
