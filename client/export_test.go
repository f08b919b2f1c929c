package client

import (
	"runtime"

	"github.com/holdfast-locks/holdfast/internal/api"
)

// Vanish cuts a Client off for good, without a goodbye: it keeps its locks until their
// deadline by its own clock, and reaches no member any more. It returns when the Client
// has found that out: a connection that it was just making is cut off too.
func Vanish(c *Client) {
	nowhere := api.Address{Network: "unix", Place: "/nowhere"}
	for c.ctx.Err() == nil {
		c.mu.Lock()
		c.addresses, c.learned, c.last = []api.Address{nowhere}, nil, nowhere
		if c.session != nil {
			c.session.at = nowhere
		}
		if c.stream != nil {
			c.stream.cancel()
		}
		gone := c.stream == nil && c.inquiry.find(nowhere) != nil && c.inquiry.find(nowhere).Err != errSilent
		c.mu.Unlock()
		if gone {
			return
		}
		runtime.Gosched()
	}
}
