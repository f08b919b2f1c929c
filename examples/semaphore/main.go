// Semaphore lets at most three of ten workers use a resource at a time, in this process or in any other.
//
//	holdfast serve &
//	go run ./examples/semaphore
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"sync"
	"sync/atomic"
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

	var inside atomic.Int64
	work := func() error {
		slot, err := locks.Lock(ctx, "license-server", holdfast.Slots(1, 3))
		if err != nil {
			return err
		}
		if inside.Add(1) > 3 {
			return errors.New("more than three at a time")
		}
		time.Sleep(20 * time.Millisecond) // the work
		inside.Add(-1)
		return slot.Unlock(ctx)
	}
	var workers sync.WaitGroup
	failures := make([]error, 10)
	for i := range failures {
		workers.Go(func() { failures[i] = work() })
	}
	workers.Wait()
	fmt.Println("all workers are done")
	return errors.Join(failures...)
}
