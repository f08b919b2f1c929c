package config

import (
	"errors"
	"strings"
	"testing"
	"unicode"
)

// judge loads: what comes out is either complaints of one line each, or a
// configuration that survives being printed and loaded.
func judge(t *testing.T, sources Sources) {
	c, err := Load(sources)
	if err == nil {
		again(t, c, printed(t, c))
		return
	}
	var refused *Error
	if !errors.As(err, &refused) {
		t.Fatalf("an error that is no *Error: %v", err)
	}
	for _, p := range refused.Problems {
		if strings.ContainsFunc(p.String(), unicode.IsControl) {
			t.Errorf("a complaint with control characters: %q", p.String())
		}
		if p.Origin == "" || p.Wrong == "" || p.Allowed == "" && p.Fix == "" {
			t.Errorf("a complaint that leaves something out: %+v", p)
		}
	}
}

func FuzzFile(f *testing.F) {
	var defaults strings.Builder
	c, err := Load(Sources{})
	if err == nil {
		err = c.PrintConfig(&defaults)
	}
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		"", defaults.String(), "name: 007\nhttp: \"\"", "a: &a [*a]", "join: &j [*j]\n", "? [a]\n: b", "tls: &t {cert: *t}",
		"spaces: {a: {protocol: central, preempt: true}}", "---\n---\n", "name: !!binary aGk=", "name: |\n  a\n  b\n", "\"\": 1",
		"spaces: {? {} : {protocol: central}}", "name: !!float x", "<<: *a", "&a : {b: c}", "::", "%YAML 1.1\n---\nname: a",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if strings.Contains(string(text), "dev") {
			t.Skip("reading a device may wait for ever")
		}
		judge(t, Sources{File: write(t, "h.yaml", string(text))})
	})
}

func FuzzEnvironment(f *testing.F) {
	for _, key := range Keys() {
		f.Add(key.Env, key.Default, "HOLDFAST_STATE", "none")
	}
	f.Add("HOLDFAST_SPACES", "a=central,preempt=true;b=grantor;c=permission,capacity=2;;=;a", "HOLDFAST_JOIN", "a:1,b:2,")
	f.Add("HOLDFAST_LESE", "3s", "HOLDFAST_NAME", "a\x00b")
	f.Add("HOLDFAST_STATE", "~/\u2028 #x: [", "HOLDFAST_LISTEN", "[fe80::1%25]:0")
	f.Fuzz(func(t *testing.T, name, value, other, text string) {
		if strings.HasPrefix(name, "HOLDFAST_CONFIG") || strings.HasPrefix(other, "HOLDFAST_CONFIG") {
			t.Skip("a fuzzer may not choose which files are read")
		}
		if strings.HasPrefix(name, "HOLDFAST_TLS_") || strings.HasPrefix(other, "HOLDFAST_TLS_") {
			t.Skip("a fuzzer may not choose which files are read")
		}
		judge(t, Sources{Environ: []string{name + "=" + value, other + "=" + text}})
	})
}

// FuzzFlags: any text for any flag is taken, or is a complaint that names the flag.
func FuzzFlags(f *testing.F) {
	keys := Keys()
	for i, key := range keys {
		f.Add(i, key.Default)
		f.Add(i, "")
		f.Add(i, "-1")
	}
	for _, value := range []string{"1e400", "NaN", "9223372036854775808", "1h1", "a=central,a=central", "::", "a:99999", "\x00", "\xff", "true "} {
		for i := range keys {
			f.Add(i, value)
		}
	}
	f.Fuzz(func(t *testing.T, which int, value string) {
		key := keys[int(uint(which)%uint(len(keys)))]
		if key.Name == "config" || strings.HasPrefix(key.Name, "tls.") {
			t.Skip("a fuzzer may not choose which files are read")
		}
		judge(t, Sources{Flags: map[string]string{key.Name: value}})
		_, err := Load(Sources{Flags: map[string]string{key.Name: value}})
		var refused *Error
		if errors.As(err, &refused) && !strings.Contains(err.Error(), key.Flag) && !strings.Contains(err.Error(), key.Name) {
			t.Errorf("--%s %q: the complaint does not name it: %v", key.Flag, value, err)
		}
	})
}
