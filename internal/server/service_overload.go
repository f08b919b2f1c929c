package server

import (
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
)

// overloaded is the name of the limit at which an overloaded member refuses new work.
const overloaded = "overload"

// retryOverload is the pause requested from a refused client.
const retryOverload = time.Second

// overload refuses new work, a session or a request for a lock, if this member is behind with its input; nil if it is
// not. Operations that keep or release continue: heartbeats, releases, cancels, new hold limits, resumptions. So an
// overloaded member loses no session in order to serve another one.
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
