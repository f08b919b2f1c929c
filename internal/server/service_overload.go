package server

import (
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
)

// overloaded is the name of the limit at which a member with more to do than it can refuses new work.
const overloaded = "overload"

// retryOverload is the wait that a refused client is asked to keep.
const retryOverload = time.Second

// overload refuses new work, a session or a request for a lock, where this member is behind with what has
// arrived already; nil where it is not. What keeps or gives back goes on: heartbeats, releases, cancels,
// other hold limits, resumptions. So a member that cannot keep up loses no session to serve another one.
func (s *service) overload() error {
	late, over := s.lag()
	if !over {
		return nil
	}
	most := s.driver.LagLimit()
	return &api.Failure{
		Code: api.CodeLimit,
		Detail: fmt.Sprintf("member %s is overloaded: what arrives waits %v until it is heard, and %v is allowed; try again in %v",
			s.identity().Member.GetName(), late.Round(time.Millisecond), most, retryOverload),
		Err: &holdfast.LimitError{Limit: overloaded, Value: most.Milliseconds()},
	}
}
