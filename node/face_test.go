package node

import (
	"maps"
	"reflect"
	"strings"
	"testing"
)

// TestFaceHasNoInternalType: a user can make and name every type that the package shows, through all fields, parameters and
// results.
func TestFaceHasNoInternalType(t *testing.T) {
	t.Parallel()
	f := face{t: t, seen: map[reflect.Type]bool{}}
	f.look("Start", reflect.TypeOf(Start))
	f.look("ForceView", reflect.TypeFor[ForceView]())
	f.look("StartError", reflect.TypeFor[*StartError]())
	for _, want := range []reflect.Type{reflect.TypeFor[*Node](), reflect.TypeFor[Space](), reflect.TypeFor[Limits](), reflect.TypeFor[ForcedPlace]()} {
		if !f.seen[want] {
			t.Errorf("%v was not looked at", want)
		}
	}
}

type face struct {
	t    *testing.T
	seen map[reflect.Type]bool
}

// look walks what can be reached of a type from outside of its package.
func (f *face) look(at string, is reflect.Type) {
	if f.seen[is] {
		return
	}
	f.seen[is] = true
	if strings.Contains(is.PkgPath()+"/", "/internal/") {
		f.t.Errorf("%s: %v is internal", at, is)
	}
	switch is.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan:
		f.look(at, is.Elem())
	case reflect.Map:
		f.look(at, is.Key())
		f.look(at, is.Elem())
	case reflect.Func:
		for i := range is.NumIn() {
			f.look(at, is.In(i))
		}
		for i := range is.NumOut() {
			f.look(at, is.Out(i))
		}
	case reflect.Struct:
		for field := range fields(is) {
			f.look(at+"."+field.Name, field.Type)
		}
	}
	if strings.HasPrefix(is.PkgPath(), "github.com/holdfast-locks/") || is.Kind() == reflect.Pointer && strings.HasPrefix(is.Elem().PkgPath(), "github.com/holdfast-locks/") {
		for i := range is.NumMethod() {
			f.look(at+"."+is.Method(i).Name, is.Method(i).Type)
		}
	}
}

// fields yields the exported fields of a struct.
func fields(is reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range is.NumField() {
			if field := is.Field(i); field.IsExported() && !yield(field) {
				return
			}
		}
	}
}

// TestConfigReachesTheMember: every field comes to the member under its own name, and no other field changes.
func TestConfigReachesTheMember(t *testing.T) {
	t.Parallel()
	for field := range fields(reflect.TypeFor[Config]()) {
		var c Config
		set := reflect.ValueOf(&c).Elem().FieldByName(field.Name)
		fill(t, field.Name, set)
		inside := reflect.ValueOf(c.host())
		got := inside.FieldByName(field.Name)
		if !got.IsValid() {
			t.Errorf("field %s: the member has none of that name", field.Name)
			continue
		}
		if !same(got, set) {
			t.Errorf("field %s: it is %v, and the member gets %v", field.Name, set, got)
		}
		got = reflect.New(inside.Type()).Elem()
		got.Set(inside)
		got.FieldByName(field.Name).SetZero()
		if !got.IsZero() {
			t.Errorf("field %s: another field of the member is set: %+v", field.Name, got)
		}
	}
}

// same reports whether two values say the same. Their types may have different names.
func same(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Func:
		return a.Pointer() == b.Pointer()
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !same(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Map:
		return maps.Equal(a.Convert(reflect.TypeFor[map[string]string]()).Interface().(map[string]string), b.Interface().(map[string]string))
	case reflect.Struct:
		for field := range fields(b.Type()) {
			if !a.FieldByName(field.Name).IsValid() || !same(a.FieldByName(field.Name), b.FieldByName(field.Name)) {
				return false
			}
		}
		return true
	}
	return a.Interface() == b.Interface()
}

// fill sets a value, and each field of a struct, to something that is not zero.
func fill(t *testing.T, at string, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("a")
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(0.25)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Func:
		v.Set(reflect.ValueOf(func(error) {}))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, at, v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("a"), reflect.ValueOf("b"))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(t, at+"."+v.Type().Field(i).Name, v.Field(i))
			}
		}
	case reflect.Interface: // a store: none is needed
	default:
		t.Fatalf("%s: no value is known for %v", at, v.Type())
	}
}

// TestSpacesAreThoseOfTheMember: a definition comes back as it was given, with what the member adds.
func TestSpacesAreThoseOfTheMember(t *testing.T) {
	t.Parallel()
	space := Space{Name: "billing", Protocol: "permission", Options: map[string]string{"retain": "true", "capacity": "3"}}
	got := space.host()
	if got.Name != space.Name || got.Protocol != space.Protocol || !maps.Equal(got.Options, space.Options) {
		t.Errorf("got %+v, want %+v", got, space)
	}
}
