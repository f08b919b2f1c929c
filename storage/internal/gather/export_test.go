package gather

import "runtime"

// AwaitQueue returns when so many swaps wait.
func (g *Gatherer) AwaitQueue(count int) {
	for {
		g.mu.Lock()
		waiting := len(g.queue)
		g.mu.Unlock()
		if waiting == count {
			return
		}
		runtime.Gosched()
	}
}
