package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// webCall is a call of the schema as HTTP serves it.
type webCall struct {
	op     string
	bound  []string // the request's fields that are in the path
	waits  bool     // for other members or for holders; Acquire may wait, too
	posted bool
	serve  func(service any, ctx context.Context, decode func(any) error, around grpc.UnaryServerInterceptor) (any, error)
	// If the request has the field given, the body of the answer is just the one element of the list named by alone.
	given, alone protoreflect.FieldDescriptor
}

// calls lists the calls of a service that have a rule for HTTP.
func (h *web) calls(service protoreflect.ServiceDescriptor, served grpc.ServiceDesc) (routes []route) {
	for i := range service.Methods().Len() {
		method := service.Methods().Get(i)
		rule, _ := proto.GetExtension(method.Options(), annotations.E_Http).(*annotations.HttpRule)
		if rule == nil {
			continue
		}
		c := &webCall{
			op:     strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(string(method.Name())), "space"), "session"),
			waits:  served.ServiceName == schema.Admin_ServiceDesc.ServiceName,
			posted: rule.GetPost() != "",
		}
		t := route{method: http.MethodGet, path: strings.Split(strings.TrimPrefix(rule.GetGet()+rule.GetPost(), "/"), "/")}
		if c.posted {
			t.method = http.MethodPost
		}
		for _, part := range t.path {
			if name, is := strings.CutPrefix(part, "{"); is {
				c.bound = append(c.bound, strings.TrimSuffix(strings.TrimSuffix(name, "}"), "=**"))
			}
		}
		if options, _ := proto.GetExtension(method.Options(), schema.E_Call).(*schema.Call); options.GetGiven() != "" {
			c.given = method.Input().Fields().ByName(protoreflect.Name(options.GetGiven()))
			c.alone = method.Output().Fields().ByName(protoreflect.Name(options.GetAlone()))
		}
		for _, one := range served.Methods {
			if one.MethodName == string(method.Name()) {
				c.serve = one.Handler
			}
		}
		t.call = c
		t.serve = func(x *exchange) error { return h.answerCall(x, c) }
		if method.IsStreamingServer() {
			stream, known := map[protoreflect.Name]func(*exchange, *webCall) error{
				"Watch": h.events, "Observe": h.observe, "WatchAudit": h.audit,
			}[method.Name()]
			if !known {
				panic("server: no stream for call " + method.FullName())
			}
			t.serve = func(x *exchange) error { return stream(x, c) }
		}
		routes = append(routes, t)
	}
	return routes
}

// answerCall answers a call of one request and one answer.
func (h *web) answerCall(c *exchange, t *webCall) error {
	ctx := c.context()
	alone := false
	answer, err := t.serve(h.service, ctx, func(request any) error { return h.read(c, t, request.(proto.Message)) },
		func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (answer any, err error) {
			alone = t.given != nil && request.(proto.Message).ProtoReflect().Has(t.given)
			ctx, cancel := h.within(ctx, t, request)
			defer cancel()
			err = h.service.guarded(ctx, info.FullMethod, request.(proto.Message), func() (err error) {
				answer, err = handler(ctx, request)
				return err
			})
			return answer, err
		})
	if err != nil {
		return err
	}
	message := answer.(proto.Message)
	if alone {
		message = message.ProtoReflect().Get(t.alone).List().Get(0).Message().Interface()
	}
	h.write(c, http.StatusOK, "application/json", message)
	return nil
}

// within returns the context of a call. A call that does not wait is answered even if its client has closed its side of
// the connection after the request, as nc -N and some proxies do. One that waits ends then: a client that has gone
// looks the same, and would be granted a lock that it does not use.
func (h *web) within(ctx context.Context, t *webCall, request any) (context.Context, context.CancelFunc) {
	if t.waits {
		return context.WithTimeoutCause(ctx, h.service.limits.LongPoll, errLongPoll)
	}
	unended := context.WithoutCancel(ctx)
	if acquire, is := request.(*schema.AcquireRequest); !is || acquire.GetWait().AsDuration() <= 0 {
		return unended, func() {}
	}
	waiting, end := context.WithCancelCause(unended)
	stop := context.AfterFunc(ctx, func() { end(errSideClosed) })
	return waiting, func() { stop(); end(nil) }
}

// errSideClosed refuses a wait whose client may have gone.
var errSideClosed = &holdfast.UnavailableError{Why: "the client has closed its side of the connection, which ends its wait; keep it open for as long as wait, or ask without wait"}

// read reads the request of a call, and takes its tokens. The error names what is wrong and its intended target.
func (h *web) read(c *exchange, t *webCall, into proto.Message) error {
	err := h.readParts(c, t, into)
	if err == nil {
		h.json.SetCaller(into, clientOf(c.r))
		if requests, _ := costOf(into); requests > 1 { // the first was counted with the request
			err = h.service.admit(c.caller, requests-1, 0, c.arrived)
		}
	}
	return failed(t.op, strings.ToValidUTF8(c.space, "\uFFFD"), "", err)
}

func (h *web) readParts(c *exchange, t *webCall, into proto.Message) error {
	requests, returns := costOf(into)
	if err := h.service.admit(c.caller, requests, returns, c.arrived); err != nil {
		return err
	}
	for i, name := range t.bound {
		text, err := url.PathUnescape(c.path[i])
		if name == "space" {
			c.space = text
		}
		switch {
		case err != nil:
			return api.Fail(api.CodeBadRequest, fmt.Sprintf("path %.200q: %v", c.r.URL.EscapedPath(), err))
		case name == "space" && text == "":
			return api.Fail(api.CodeUnknownSpace, "the path names no space; it is mostly called default")
		}
		if _, _, err := h.json.ReadText(name, text, into); err != nil {
			return api.BadRequest(err)
		}
	}
	if err := h.readQuery(c, t, into); err != nil || !t.posted {
		return err
	}
	if err := checkContent(c.r.Header); err != nil {
		return err
	}
	body, err := c.readBody(h.service.limits)
	if err != nil {
		return err
	}
	is := len(body) >= heavyBytes
	h.service.heavy.begin(is)
	defer h.service.heavy.end(is)
	return api.BadRequest(h.json.Read(body, into, t.bound...))
}

// readQuery reads the parameters of a request. Unknown and repeated ones are refused.
func (h *web) readQuery(c *exchange, t *webCall, into proto.Message) error {
	values, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return api.Fail(api.CodeBadRequest, fmt.Sprintf("query: %v", err))
	}
	for name, given := range values {
		if into == nil || t.posted {
			return api.Fail(api.CodeBadRequest, fmt.Sprintf("unknown query parameter %.80q: this call has none", name))
		}
		known, names, err := h.json.ReadText(name, given[0], into, t.bound...)
		switch {
		case !known && names == "none":
			return api.Fail(api.CodeBadRequest, fmt.Sprintf("unknown query parameter %.80q: this call has none", name))
		case !known:
			return api.Fail(api.CodeBadRequest, fmt.Sprintf("unknown query parameter %.80q: want one of %s", name, names))
		case len(given) > 1:
			return api.Fail(api.CodeBadRequest, fmt.Sprintf("query parameter %s: it is given %d times", name, len(given)))
		case err != nil:
			return api.BadRequest(err)
		}
	}
	return nil
}

// checkContent refuses a body that is not JSON.
func checkContent(header http.Header) error {
	kind, parameters, err := mime.ParseMediaType(header.Get("Content-Type"))
	charset := parameters["charset"]
	if err != nil || kind != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return api.Fail(api.CodeBadRequest, fmt.Sprintf("content type %.100q: want application/json", header.Get("Content-Type")))
	}
	if encoding := header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return api.Fail(api.CodeBadRequest, fmt.Sprintf("content encoding %.40q: want none", encoding))
	}
	return nil
}

// limitRead sets the deadline for the rest of the request; the zero time is no limit. It has no effect on a server
// without deadlines.
func (c *exchange) limitRead(at time.Time) error {
	err := http.NewResponseController(c.w).SetReadDeadline(at)
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return api.Fail(api.CodeBadRequest, fmt.Sprintf("read the body: %v", err))
	}
	return nil
}

// readBody reads the body within its limits of size and time. After it the connection has no time limit: the request
// may wait.
func (c *exchange) readBody(limits Limits) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, limits.MessageBytes))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, api.Fail(api.CodeTooLarge, fmt.Sprintf("the body has more than %d bytes, which message_bytes allows", limits.MessageBytes))
	case err != nil:
		return nil, api.Fail(api.CodeBadRequest, fmt.Sprintf("read the body: %v", err))
	}
	return body, c.limitRead(time.Time{})
}

// clientOf returns the caller's description, for people.
func clientOf(r *http.Request) string {
	const most = 80
	client := "http " + r.RemoteAddr
	agent := strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, strings.ToValidUTF8(r.UserAgent(), ""))
	if len(agent) > most {
		agent = strings.ToValidUTF8(agent[:most], "")
	}
	if agent != "" {
		client += " (" + agent + ")"
	}
	return client
}
