package frames

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	general "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// Codec encodes and decodes for gRPC: by hand for the frames of a session's stream, which are sent as
// *schema.ClientFrame and *schema.ServerFrame and received as *[Operations] and *[Events]; by the general code for
// every other message. Pass it to a server with grpc.ForceServerCodecV2, and to a call with grpc.ForceCodecV2. A *[Raw]
// is passed on unchanged. It is safe for concurrent use.
type Codec struct {
	others  encoding.CodecV2
	buffers mem.BufferPool
	slots   *slotPool
}

var _ encoding.CodecV2 = (*Codec)(nil)

// Raw is a message of any kind that a forwarding member passes on as bytes. Sending it frees it; free one that is not
// sent.
type Raw struct{ Bytes mem.BufferSlice }

// NewCodec returns a Codec with its own memory.
func NewCodec() *Codec {
	return &Codec{
		others:  encoding.GetCodecV2(general.Name),
		buffers: mem.DefaultBufferPool(),
		slots:   newSlotPool(),
	}
}

// Name returns the name of the general code: the bytes are the same.
func (c *Codec) Name() string { return general.Name }

// Marshal returns the bytes of v. The error is from the general code, for a text that is no UTF-8 or a v that is no
// message.
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

// pack returns the bytes appended to a buffer of the pool. A slice that has outgrown it is left to the collector.
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

// Unmarshal decodes data into v, and keeps nothing of data.
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
