package storage

import "fmt"

// Clock requests the time with which writes are dated. Clocked is the answer.
type Clock struct {
	ID uint64 // of this request, repeated in Clocked
	// Own requests the wall clock of the local machine, which is answered at once. Otherwise it is the store's clock.
	Own bool
}

// Clocked answers a Clock. Its time is that of some instant between the request and the answer.
type Clocked struct {
	ID   uint64
	Time int64 // in microseconds since the Unix epoch
	Err  error
}

// Watch requests a Changed whenever the row of Key may have changed, until an Unwatch. After the first Changed, every
// later change will be reported. A store without watches does not answer.
type Watch struct{ Key string }

// Unwatch ends a Watch. A Changed in flight may still arrive.
type Unwatch struct{ Key string }

// Changed reports that the row of Key may have changed.
type Changed struct{ Key string }

func (c Clock) String() string {
	if c.Own {
		return fmt.Sprintf("clock #%d of the machine", c.ID)
	}
	return fmt.Sprintf("clock #%d of the store", c.ID)
}

func (c Clocked) String() string {
	if c.Err != nil {
		return fmt.Sprintf("clock #%d: %v", c.ID, c.Err)
	}
	return fmt.Sprintf("clock #%d: %d µs", c.ID, c.Time)
}

func (w Watch) String() string   { return fmt.Sprintf("watch %q", w.Key) }
func (w Unwatch) String() string { return fmt.Sprintf("unwatch %q", w.Key) }
func (c Changed) String() string { return fmt.Sprintf("changed %q", c.Key) }
