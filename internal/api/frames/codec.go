package frames

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	general "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// Codec encodes and decodes for gRPC: by hand for the frames of a session's stream,
// which are sent as *schema.ClientFrame and *schema.ServerFrame and received as *[Operations]
// and *[Events]; by the general code for every other message. Give it to a server with
// grpc.ForceServerCodecV2, to a call with grpc.ForceCodecV2. A *[Raw] is passed on as it came. It is safe for
// many goroutines.
type Codec struct {
	others  encoding.CodecV2
	buffers mem.BufferPool
	slots   *slotPool
}

var _ encoding.CodecV2 = (*Codec)(nil)

// Raw is a message of any kind whose bytes are passed on, by a member that forwards. Sending it frees it; one that is not sent is to
// be freed.
type Raw struct{ Bytes mem.BufferSlice }

// NewCodec returns a Codec with memory of its own.
func NewCodec() *Codec {
	return &Codec{
		others:  encoding.GetCodecV2(general.Name),
		buffers: mem.DefaultBufferPool(),
		slots:   newSlotPool(),
	}
}

// Name is that of the general code: the bytes are the same.
func (c *Codec) Name() string { return general.Name }

// Marshal returns the bytes of v. The error is one of the general code, for a text that
// is no UTF-8 or a v that is no message.
func (c *Codec) Marshal(v any) (mem.BufferSlice, error) {
	switch frame := v.(type) {
	case *Raw:
		return frame.Bytes, nil
	case *schema.ClientFrame:
		buffer := c.buffers.Get(operationsHint(frame.Operations))
		b, err := appendOperations((*buffer)[:0], frame.Operations)
		return c.pack(buffer, b, err)
	case *schema.ServerFrame:
		buffer := c.buffers.Get(plainBytes * len(frame.Events))
		b, err := appendEvents((*buffer)[:0], frame.Events)
		return c.pack(buffer, b, err)
	}
	return c.others.Marshal(v)
}

// pack hands over what was appended to a buffer of the pool. A slice that has outgrown it is
// left to the collector.
func (c *Codec) pack(buffer *[]byte, b []byte, err error) (mem.BufferSlice, error) {
	if err != nil || cap(b) != cap(*buffer) {
		c.buffers.Put(buffer)
		if err != nil {
			return nil, err
		}
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	*buffer = b
	return mem.BufferSlice{mem.NewBuffer(buffer, c.buffers)}, nil
}

// Unmarshal reads data into v. Nothing of data is kept.
func (c *Codec) Unmarshal(data mem.BufferSlice, v any) error {
	switch frame := v.(type) {
	case *Raw:
		data.Ref()
		frame.Bytes = data
		return nil
	case *Operations, *Events:
	default:
		return c.others.Unmarshal(data, v)
	}
	buffer := data.MaterializeToBuffer(c.buffers)
	defer buffer.Free()
	switch frame := v.(type) {
	case *Operations:
		frame.Release()
		frame.slots, frame.pool = c.slots.get(), c.slots
		return frame.read(buffer.ReadOnlyData())
	case *Events:
		return frame.Read(buffer.ReadOnlyData())
	}
	return fmt.Errorf("a frame of type %T has no code", v)
}
