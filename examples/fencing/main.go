// Fencing writes to PostgreSQL under a lock's token. A holder that was paused for too long cannot overwrite a later one.
//
//	holdfast serve & DATABASE_URL=postgres://localhost/app go run ./examples/fencing
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
)

const write = `insert into account values ($1, $2, $3)
	on conflict (id) do update set balance = $2, token = $3 where account.token <= $3`

func main() {
	locks, err := client.Dial(context.Background(), cmp.Or(os.Getenv("HOLDFAST_SERVER"), "localhost:4040"))
	if err == nil {
		err = run(context.Background(), cmp.Or(os.Getenv("DATABASE_URL"), "postgres://localhost/app"), locks)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url string, locks holdfast.Locker) error {
	defer locks.Close()
	db, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer db.Close(ctx)
	if _, err := db.Exec(ctx, `create table if not exists account (id int primary key, balance int not null, token bigint not null)`); err != nil {
		return err
	}
	var tokens []holdfast.Token
	for _, balance := range []int{100, 200} {
		lock, err := locks.Lock(ctx, "account/7")
		if err != nil {
			return err
		}
		tokens = append(tokens, lock.Token())
		done, err := db.Exec(ctx, write, 7, balance, int64(lock.Token()))
		fmt.Println("write", balance, "taken:", done.RowsAffected() == 1)
		if err := errors.Join(err, lock.Unlock(ctx)); err != nil {
			return err
		}
	}
	done, err := db.Exec(ctx, write, 7, 0, int64(tokens[0])) // as a holder does that was paused and wakes late
	fmt.Println("late write taken:", done.RowsAffected() == 1)
	return err
}
