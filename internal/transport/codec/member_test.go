package codec

import (
	"encoding/hex"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/test/golden"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/lock/wire"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/admin"
	"github.com/holdfast-locks/holdfast/protocol/authority"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
	"github.com/holdfast-locks/holdfast/protocol/consensus"
	"github.com/holdfast-locks/holdfast/protocol/consensus/group"
	"github.com/holdfast-locks/holdfast/protocol/consensus/shard"
	"github.com/holdfast-locks/holdfast/protocol/grantor"
)

// all has one message of each type, without anything in it, and of a type that carries others one for each of these.
func all() (list []protocol.Message) {
	for _, of := range messages().Types() {
		if of.Bodies == nil {
			list = append(list, of.Zero.(protocol.Message))
			continue
		}
		for _, body := range of.Bodies {
			envelope := reflect.New(reflect.TypeOf(of.Zero)).Elem()
			envelope.FieldByName("Body").Set(reflect.ValueOf(body.Zero))
			list = append(list, envelope.Interface().(protocol.Message))
		}
	}
	return list
}

// typeOf returns the name of a message's type, and the number of it; of an envelope, those of what it carries.
func typeOf(m protocol.Message) (name string, kind wire.Kind) {
	switch envelope := m.(type) {
	case bakery.Envelope:
		return fmt.Sprintf("%T", envelope.Body), kindOf(envelope.Body)
	case consensus.Envelope:
		return fmt.Sprintf("%T", envelope.Body), kindOf(envelope.Body)
	}
	return fmt.Sprintf("%T", m), kindOf(m)
}

// kindOf returns the number of a type of messages, or of what they carry; 0 where it has none.
func kindOf(value any) wire.Kind {
	var find func(types []wire.Type) wire.Kind
	find = func(types []wire.Type) wire.Kind {
		for _, of := range types {
			if reflect.TypeOf(of.Zero) == reflect.TypeOf(value) {
				return of.Kind
			}
			if kind := find(of.Bodies); kind != 0 {
				return kind
			}
		}
		return 0
	}
	return find(messages().Types())
}

// nameOf returns the name that typeOf does.
func nameOf(m protocol.Message) string {
	name, _ := typeOf(m)
	return name
}

// parts are types of the lists of messages that are no messages, but within some.
var parts = []string{
	"Stamp", "Ended", "Released", "QueryKind", "Place", "Kind", "Beginning", "Tag", "Counts",
	"Term", "Candidate", "Key", "Ticket", "Body", "Choosing", "Vote", "TicketUnits", "NameState", "Numbered", "Claimed", "Refusal", "Failure",
	"Message", "Verdict",
}

// outcome is bakery.Election, which is within some messages; the message election.Election is another type.
const outcome = "bakery.Election"

// TestTableHasEveryMessage walks the messages.go of the packages that speak to other members: what is declared there is
// in the table.
func TestTableHasEveryMessage(t *testing.T) {
	known := map[string]bool{outcome: true}
	for _, value := range wire.Values(messages().Types()) {
		known[fmt.Sprintf("%T", value)] = true
	}
	for _, file := range listsOfMessages(t) {
		for _, name := range declared(t, file) {
			if !known[name] {
				t.Errorf("%s is declared in %s, and is not in the table", name, file)
			}
		}
	}
}

// listsOfMessages finds the messages.go of all packages of members' machines. That of protocol/admin has what others embed.
func listsOfMessages(t *testing.T) (files []string) {
	t.Helper()
	for _, pattern := range []string{"../../member/*", "../../../protocol/*", "../../../protocol/*/*"} {
		found, err := filepath.Glob(pattern + "/messages.go")
		if err != nil || len(found) == 0 {
			t.Fatalf("no list of messages in %s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	return slices.DeleteFunc(files, func(file string) bool { return filepath.Base(filepath.Dir(file)) == "admin" })
}

// declared returns the types in a list of messages, with their package.
func declared(t *testing.T, file string) (found []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, declaration := range parsed.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok || group.Tok != token.TYPE {
			continue
		}
		for _, spec := range group.Specs {
			if name := spec.(*ast.TypeSpec).Name; name.IsExported() && !slices.Contains(parts, name.Name) {
				found = append(found, parsed.Name.Name+"."+name.Name)
			}
		}
	}
	return found
}

// TestEveryMessageComesBack: everything that a message has, it has on the other side.
func TestEveryMessageComesBack(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	for _, empty := range all() {
		t.Run(nameOf(empty), func(t *testing.T) {
			for round := range rounds {
				value := reflect.New(reflect.TypeOf(empty)).Elem()
				value.Set(reflect.ValueOf(empty))
				if round > 0 {
					fill(random, value)
				}
				want, port := value.Interface().(protocol.Message), protocol.Port(random.Uint32())
				b, err := Append([]byte("before"), port, want)
				if err != nil || string(b[:6]) != "before" {
					t.Fatalf("%v: %q %v", want, b, err)
				}
				gotPort, got, rest, err := Decode(append(b[6:], "after"...))
				if err != nil || gotPort != port || string(rest) != "after" {
					t.Fatalf("%v: port %d for %d, rest %q, %v", want, gotPort, port, rest, err)
				}
				if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), bySentence()); diff != "" {
					t.Fatalf("(-sent +received):\n%s", diff)
				}
			}
		})
	}
}

// sentinels are the errors that a program may test for.
var sentinels = []error{
	holdfast.ErrHeld, holdfast.ErrLost, holdfast.ErrNotHeld, holdfast.ErrUnavailable,
	holdfast.ErrLimit, holdfast.ErrDenied, holdfast.ErrClosed, holdfast.ErrClass,
	holdfast.ErrName, holdfast.ErrSpace, holdfast.ErrConflict, holdfast.ErrUnsupported,
}

// bySentence compares errors by their text and kind. A field of a
// concrete error type is compared as any value.
func bySentence() cmp.Option {
	isError := func(p cmp.Path) bool { return p.Last().Type() == reflect.TypeFor[error]() }
	return cmp.FilterPath(isError, cmp.Comparer(sameError))
}

func sameError(a, b error) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	for _, sentinel := range sentinels {
		if errors.Is(a, sentinel) != errors.Is(b, sentinel) {
			return false
		}
	}
	return a.Error() == b.Error() && holdfast.Why(a) == holdfast.Why(b)
}

// fill puts something random, within its bounds, in every field.
func fill(random *rand.Rand, v reflect.Value) {
	switch v.Interface().(type) {
	case election.Status:
		v.SetUint(random.Uint64N(uint64(election.Normal) + 1))
		return
	case holdfast.Mode, holdfast.Class:
		v.SetUint(random.Uint64N(3))
		return
	case holdfast.DeadlockPolicy:
		v.SetUint(random.Uint64N(uint64(holdfast.Fail) + 1))
		return
	case lock.Kind:
		v.SetUint(random.Uint64N(uint64(lock.Released) + 1))
		return
	case admin.Kind:
		v.SetUint(random.Uint64N(uint64(admin.LastKind) + 1))
		return
	case protocol.Role:
		v.SetUint(uint64(random.UintN(uint(protocol.Voter) + 1)))
		return
	case consensus.Verdict:
		v.SetUint(uint64(random.UintN(uint(consensus.LastVerdict) + 1)))
		return
	case protocol.State:
		v.SetUint(random.Uint64N(uint64(protocol.Ready) + 1))
		return
	case grantor.Kind:
		v.SetUint(random.Uint64N(uint64(grantor.Count) + 1))
		return
	case grantor.Beginning:
		v.SetUint(random.Uint64N(uint64(grantor.Inheriting) + 1))
		return
	case bakery.Refusal:
		v.SetUint(random.Uint64N(uint64(bakery.RefusedEpoch) + 1))
		return
	case bakery.Failure:
		v.SetUint(random.Uint64N(uint64(bakery.FailedLimit) + 1))
		return
	case authority.Handover:
		fillKind(random, v)
		for i := range v.FieldByName("Unacked").Len() { // words have no stamp yet
			v.FieldByName("Unacked").Index(i).FieldByName("Stamp").SetZero()
		}
		return
	}
	if isBody(v.Type()) {
		within(v, func(body reflect.Value) { fill(random, body) })
		return
	}
	if fillConsensus(random, v) {
		return
	}
	if v.Kind() == reflect.Interface {
		if err := failures()[random.IntN(len(failures()))]; err != nil {
			v.Set(reflect.ValueOf(err))
		}
		return
	}
	fillKind(random, v)
}

// fillConsensus does so with what would not come back as it is.
func fillConsensus(random *rand.Rand, v reflect.Value) bool {
	switch value := v.Addr().Interface().(type) {
	case *replica.Kind:
		*value = replica.Open + replica.Kind(random.UintN(uint(replica.Amend)))
	case *lock.Attachments: // of a client with a number; of those before it the first are known
		*value = lock.Attachments{Attachment: lock.Attachment{Client: 1 + random.Uint64N(9), Generation: random.Uint64()}}
		value.Former[0] = random.Uint64N(3)
	case *replica.Op: // a field that its kind does not name is not written
		fillKind(random, v)
		value.Units, value.Capacity = value.Units&math.MaxInt32, value.Capacity&math.MaxInt32
		if value.Kind == replica.Attach && value.Attached == nil {
			value.Kind = replica.End
		}
		written := wire.To(nil)
		value.Code(&written)
		taken := wire.From(written.Appended())
		*value = replica.Op{}
		value.Code(&taken)
	case *group.Message:
		fillKind(random, v)
		value.Kind = uint8(random.UintN(uint(group.LastKind) + 1))
	case *group.Entry:
		fillKind(random, v)
		value.Kind, value.Conf = uint8(random.UintN(uint(group.LastEntryKind)+1)), nil
	default:
		return false
	}
	return true
}

// isBody says whether a type is that of what envelopes say.
func isBody(t reflect.Type) bool {
	return t == reflect.TypeFor[bakery.Body]() || t == reflect.TypeFor[shard.Message]()
}

// within lets what an envelope says be changed.
func within(v reflect.Value, change func(body reflect.Value)) {
	body := reflect.New(v.Elem().Type()).Elem()
	body.Set(v.Elem())
	change(body)
	v.Set(body)
}

func fillKind(random *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(random, v.Field(i))
		}
	case reflect.Pointer:
		if random.IntN(4) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(random, v.Elem())
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), random.IntN(4), 4))
		for i := range v.Len() {
			fill(random, v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(random, v.Index(i))
		}
	case reflect.String:
		v.SetString(strings.Repeat("é\x00ß", random.IntN(40)))
	case reflect.Bool:
		v.SetBool(random.IntN(2) == 0)
	case reflect.Int:
		v.SetInt(int64(int32(random.Uint32())))
	case reflect.Int64: // durations and times
		v.SetInt([]int64{0, -1, 1, int64(random.Uint64()), int64(protocol.Never), int64(3 * time.Second)}[random.IntN(6)])
	case reflect.Float64:
		v.SetFloat(random.Float64())
	default: // unsigned; SetUint takes as many bits as there are
		v.SetUint(random.Uint64() >> (random.UintN(64)))
	}
}

// failures are errors as machines put them in messages.
func failures() []error {
	return append(slices.Clone(sentinels),
		nil,
		fmt.Errorf("%w: capacity 3 is asked for, and the name has capacity 4", holdfast.ErrConflict),
		&lock.HeldBy{},
		&lock.HeldBy{Owner: "operator", Suspended: true, Reason: "restore"},
		&lock.HeldBy{Owner: "job-7", Others: 2, Holder: lock.SessionID{Member: 1<<63 + 5, Number: 7<<32 | 12}, Age: time.Hour + 17},
		&holdfast.LimitError{Limit: "waiters_per_name", Value: 1 << 40},
		holdfast.SessionExpired,
		errors.New("of no kind that a caller tests for"),
	)
}

// kept is a list of messages, a line each: the type, of an envelope that of what it says, and
// the bytes for port 3.
const kept = "testdata/messages.txt"

// examples have something in every field, always the same.
func examples(t testing.TB) (lines []string) {
	t.Helper()
	for _, empty := range all() {
		name, k := typeOf(empty)
		random := rand.New(rand.NewPCG(7, uint64(k)))
		value := reflect.New(reflect.TypeOf(empty)).Elem()
		value.Set(reflect.ValueOf(empty))
		fill(random, value)
		lengthen(random, value)
		b, err := Append(nil, 3, value.Interface().(protocol.Message))
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s %s", name, hex.EncodeToString(b)))
	}
	return lines
}

// lengthen gives every list that is empty an element, so that the format of none goes unseen.
func lengthen(random *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			lengthen(random, v.Field(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			lengthen(random, v.Elem())
		}
	case reflect.Interface:
		if isBody(v.Type()) {
			within(v, func(body reflect.Value) { lengthen(random, body) })
		}
	case reflect.Slice:
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(random, v.Index(0))
		}
		for i := range v.Len() {
			lengthen(random, v.Index(i))
		}
	}
}

// TestFormatStays: another format needs another transport.Version: count it up, and run this test with -rewrite.
func TestFormatStays(t *testing.T) {
	got := strings.Join(examples(t), "\n") + "\n"
	golden.Match(t, kept, got)
}

// TestTwoInOne: messages follow one another without anything between.
func TestTwoInOne(t *testing.T) {
	b, err := Append(nil, 1, authority.InfoRequest{Chunk: 7})
	if err == nil {
		b, err = Append(b, 0, membership.Resign{Epoch: protocol.Epoch{Counter: 3}})
	}
	if err != nil {
		t.Fatal(err)
	}
	_, first, rest, err := Decode(b)
	if err != nil || first.(authority.InfoRequest).Chunk != 7 {
		t.Fatalf("%v %v", first, err)
	}
	if _, second, rest, err := Decode(rest); err != nil || second.(membership.Resign).Epoch.Counter != 3 || len(rest) != 0 {
		t.Errorf("%v, rest %q, %v", second, rest, err)
	}
}

// TestVersionsCostOneByte where there are none: every message of a protocol in which an
// epoch has one reign has one.
func TestVersionsCostOneByte(t *testing.T) {
	stamp := authority.Stamp{Epoch: protocol.Epoch{Counter: 5, Candidate: 6}, Tenure: protocol.Tenure{Incarnation: 7}}
	versioned := stamp
	versioned.Version = authority.Version{Epoch: 4, Number: 3 << 32}
	for want, s := range map[int]authority.Stamp{2 + 9 + 1 + 2 + 2 + 1: stamp, 2 + 9 + 1 + 1 + 5 + 2 + 2 + 1: versioned} {
		b, err := Append(nil, 1, authority.Acks{Stamp: s})
		if err != nil || len(b) != want {
			t.Errorf("%v has %d bytes, not %d (%v)", s, len(b), want, err)
		}
	}
}
