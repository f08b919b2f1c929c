package elect_test

import (
	"context"
	"fmt"

	"github.com/holdfast-locks/holdfast/elect"
	"github.com/holdfast-locks/holdfast/storage/memory"
	"github.com/holdfast-locks/holdfast/storelock"
)

// A program that leads, works under the token of its term, and hands over.
func ExampleRun() {
	ctx := context.Background()
	locks, err := storelock.Open(ctx, memory.New(memory.Config{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer locks.Close()

	err = elect.Run(ctx, locks, "scheduler", func(ctx context.Context, term elect.Term) error {
		fmt.Println("leads", term.Name())
		return nil // resigns
	}, elect.Value("http://10.0.0.7:8080"))
	fmt.Println(err)
	// Output:
	// leads scheduler
	// <nil>
}
