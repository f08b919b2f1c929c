// Embedded makes the program itself a member, so that a lock costs no message. Its goroutines take turns.
//
//	go run ./examples/embedded
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"

	"github.com/holdfast-locks/holdfast/node"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) (err error) {
	// Listen, Join and Expect make it one member of several; see docs/operations.md.
	member, err := node.Start(ctx, node.Config{Name: "embedded"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, member.Close()) }()

	counter := 0
	count := func() error {
		for range 250 {
			lock, err := member.Lock(ctx, "counter")
			if err != nil {
				return err
			}
			counter++
			if err := lock.Unlock(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	var workers sync.WaitGroup
	failures := make([]error, 4)
	for i := range failures {
		workers.Go(func() { failures[i] = count() })
	}
	workers.Wait()
	fmt.Println("counter:", counter)
	return errors.Join(failures...)
}
