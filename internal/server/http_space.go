package server

import "context"

// transfer is POST /v1/spaces/{space}/transfer.
func (h *web) transfer(c *exchange) error {
	in := h.spaceInput(c)
	_, err := c.decode(fields{"member": text(&in.Member)})
	if err != nil {
		return inSpace(c, opTransfer, err)
	}
	ctx, cancel := h.longPoll(c)
	defer cancel()
	transferred, err := h.service.transfer(ctx, in)
	return h.answer(c, transferred, err)
}

// suspend is POST /v1/spaces/{space}/suspend.
func (h *web) suspend(c *exchange) error {
	in := h.spaceInput(c)
	in.Wait = h.service.limits.LongPoll
	_, err := c.decode(fields{"reason": text(&in.Reason), "wait": duration(&in.Wait, 0)})
	if err != nil {
		return inSpace(c, opSuspend, err)
	}
	ctx, cancel := h.longPoll(c)
	defer cancel()
	suspended, err := h.service.suspend(ctx, in)
	return h.answer(c, suspended, err)
}

// resume is POST /v1/spaces/{space}/resume.
func (h *web) resume(c *exchange) error {
	in := h.spaceInput(c)
	if _, err := c.decode(fields{"reason": text(&in.Reason)}); err != nil {
		return inSpace(c, opResume, err)
	}
	ctx, cancel := h.longPoll(c)
	defer cancel()
	resumed, err := h.service.resume(ctx, in)
	return h.answer(c, resumed, err)
}

// openSpace is POST /v1/spaces/{space}/open.
func (h *web) openSpace(c *exchange) error {
	in := h.spaceInput(c)
	if _, err := c.decode(fields{}); err != nil {
		return inSpace(c, opOpenSpace, err)
	}
	ctx, cancel := h.longPoll(c)
	defer cancel()
	opened, err := h.service.openSpace(ctx, in)
	return h.answer(c, opened, err)
}

// closeSpace is POST /v1/spaces/{space}/close.
func (h *web) closeSpace(c *exchange) error {
	in := h.spaceInput(c)
	if _, err := c.decode(fields{}); err != nil {
		return inSpace(c, opCloseSpace, err)
	}
	ctx, cancel := h.longPoll(c)
	defer cancel()
	closed, err := h.service.closeSpace(ctx, in)
	return h.answer(c, closed, err)
}

func (h *web) spaceInput(c *exchange) spaceInput {
	return spaceInput{Space: c.space, By: c.caller.called(clientOf(c.r))}
}

// longPoll bounds a call that waits, by how long one HTTP request may.
func (h *web) longPoll(c *exchange) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(c.r.Context(), h.service.limits.LongPoll, errLongPoll)
}
