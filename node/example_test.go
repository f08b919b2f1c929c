package node_test

import (
	"context"
	"fmt"
	"log"

	"github.com/holdfast-locks/holdfast/node"
)

// A program that is a member by itself locks without any message.
func ExampleStart() {
	ctx := context.Background()
	member, err := node.Start(ctx, node.Config{})
	if err != nil {
		log.Fatal(err)
	}
	lock, err := member.Lock(ctx, "invoices/7")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("held:", lock.Check() == nil)
	fmt.Println("unlock:", lock.Unlock(ctx))
	fmt.Println("close:", member.Close())
	// Output:
	// held: true
	// unlock: <nil>
	// close: <nil>
}
