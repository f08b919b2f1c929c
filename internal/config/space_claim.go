package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/option"
	"github.com/holdfast-locks/holdfast/storage/open"
)

// storeOption is the option with the URL of a store, which may have a password.
const storeOption = "store"

// storeURL is the option with the URL of a store; package storage/open defines its form.
func storeURL() option.Option {
	return option.Option{
		Name: storeOption, Value: urlOfStore{new(string)}, Default: "required",
		Help: "The URL of the store, or the absolute path of a folder on this machine.",
	}
}

// urlOfStore is the value of that option.
type urlOfStore struct{ at *string }

// Set parses a URL.
func (u urlOfStore) Set(text string, _ bool) *option.Reason {
	if wrong := judgeStore(text); wrong != nil {
		return &option.Reason{Wrong: wrong.wrong, Fix: wrong.fix}
	}
	*u.at = text
	return nil
}

// Text returns the URL.
func (u urlOfStore) Text() string { return *u.at }

// Number returns 0.
func (urlOfStore) Number() int64 { return 0 }

// Allowed lists the schemes.
func (urlOfStore) Allowed() []string {
	return []string{strings.Join(schemes(), "://…, ") + "://…", "/FOLDER"}
}

// Spellings returns none.
func (urlOfStore) Spellings() []string { return nil }

// schemes returns those of stores that outlive the process.
func schemes() []string {
	return slices.DeleteFunc(open.Schemes(), func(scheme string) bool { return scheme == inMemory })
}

// inMemory is the scheme of a store that ends with its process, while clients still believe in its grants.
const inMemory = "memory"

// judgeStore refuses an invalid store URL before anything is opened. It shows nothing that could be part of a password.
func judgeStore(url string) *flaw {
	url = open.Folder(url)
	scheme, rest, found := strings.Cut(url, "://")
	if !found {
		return &flaw{"it is no URL", "write it as in postgres://HOST/DATABASE, or give a folder of this machine from its root on, as in /var/lib/locks"}
	}
	switch scheme = strings.ToLower(scheme); {
	case scheme == inMemory:
		return &flaw{"what is in a process's memory is gone when it ends, and seen by no other", "use folder:///FOLDER"}
	case !slices.Contains(schemes(), scheme):
		return &flaw{"no store has this scheme", suggest(scheme, schemes(), "use one of "+strings.Join(schemes(), ", "))}
	}
	if wrong := badText(url); wrong != nil {
		return wrong
	}
	// After the last @ there is no password.
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	if strayed := regexp.MustCompile(`,([A-Za-z_]+)=`).FindStringSubmatch(rest); strayed != nil {
		d := overStore()
		names := optionsOf(d.Name).Names()
		return &flaw{"behind a comma it has " + quote(strayed[1]+"=") + ", which is no option of protocol " + d.Name,
			suggest(strayed[1], names, "write %2C for a comma that is a part of the URL")}
	}
	return nil
}

// splitOptions splits the text after a protocol. A URL contains commas, between hosts: it extends to the next option of
// the protocol.
func splitOptions(protocol, text string) (parts []string) {
	options := optionsOf(protocol)
	begins := func(part string) bool {
		name, _, valued := strings.Cut(part, "=")
		name = strings.TrimSpace(name)
		o := options.Find(name)
		return o != nil && !o.Tuning && (valued || o.Alone())
	}
	for part := range strings.SplitSeq(text, ",") {
		last := len(parts) - 1
		if last >= 0 && strings.HasPrefix(strings.TrimSpace(parts[last]), storeOption+"=") && !begins(part) {
			parts[last] += "," + part
			continue
		}
		parts = append(parts, part)
	}
	return parts
}

// redacted returns a displayable value of an option: a store's URL without its password, and nothing that may be a
// misplaced one.
func redacted(name, value string) string {
	switch name {
	case storeOption:
		return open.Redacted(value)
	case "rid", "group": // which may contain an @
		if !strings.Contains(value, "://") {
			return value
		}
	}
	return hushed(value)
}

// hushed returns a text without a possible URL.
func hushed(text string) string {
	const hidden = "xxxxx"
	if before, _, found := strings.Cut(text, "://"); found {
		return before + "://" + hidden
	}
	if strings.Contains(text, "@") {
		return hidden
	}
	return text
}

// redactedItem returns a displayable text of a whole space.
func redactedItem(text string) string {
	if before, url, found := strings.Cut(text, storeOption+"="); found {
		return hushed(before) + storeOption + "=" + open.Redacted(url)
	}
	return hushed(text)
}

// overStore returns the protocol whose locks are kept in a store.
func overStore() protocol.Descriptor {
	all := member.Protocols()
	return all[slices.IndexFunc(all, func(d protocol.Descriptor) bool { return d.Stores })]
}

// Store returns the URL of the store of a space of protocol claim; "" for any other. It may contain a password.
func (s Space) Store() string { return open.Folder(s.Options[storeOption]) }

// prefersSwap reports whether locks in the store of a URL are taken by conditional writes although option cas is not
// given: in a folder, unless an option is given that is for claims alone.
func prefersSwap(url string, given func(name string) bool) bool {
	scheme, _, _ := strings.Cut(strings.ToLower(open.Folder(url)), "://")
	return scheme == "folder" && !slices.ContainsFunc([]string{"cas", "clock", "cleaner"}, given)
}

// StoreSettings parses the URL of a store, and option=value[,option=value…] of protocol claim, for a process that takes
// locks there without a member. The error is a sentence with the option, the allowed values and the fix, without a
// password.
func StoreSettings(url, options string) (protocol.Options, error) {
	if wrong := judgeStore(url); wrong != nil {
		return nil, fmt.Errorf("store %s: %s; %s", open.Redacted(url), wrong.wrong, wrong.fix)
	}
	refused := func(name, text string) error { return fmt.Errorf("option %s %s", quote(hushed(name)), text) }
	d := overStore()
	space := Space{Name: "default", Protocol: d.Name}
	read := d.Options()
	list := read.List()[len((&protocol.Common{}).List()):] // there is no member, so no view
	for part := range strings.SplitSeq(options, ",") {
		if strings.TrimSpace(options) == "" {
			break
		}
		name, value, valued := strings.Cut(part, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		o := list.Find(name)
		switch {
		case o == nil || o.Tuning:
			return nil, refused(name, "is not known; allowed: "+strings.Join(list.Names(), ", ")+"; "+suggest(name, list.Names(), "leave it out"))
		case !valued && !o.Alone():
			return nil, refused(name, "has no value; write option=value")
		case !valued:
			value = "true"
		}
		if r := list.Set(name, value, true); r != nil {
			return nil, refused(name, fmt.Sprintf("cannot be %s; allowed: %s; %s", quote(redacted(name, value)), r.Allowed, suggest(value, r.Words, r.Fix)))
		}
		if wrong := space.setOption(name, value); wrong != nil {
			return nil, refused(name, "is given twice; give it once")
		}
	}
	if prefersSwap(url, func(name string) bool { _, is := space.Options[name]; return is }) {
		if r := list.Set("cas", "true", true); r != nil {
			return nil, r
		}
	}
	_, err := d.Check(list.Given(), nil, probe("default", usualDrift))
	return read, err
}

// probe returns a setup for resolving options before there is a member.
func probe(space string, drift float64) *protocol.Setup {
	return &protocol.Setup{Space: space, Process: "drawn", Table: lock.Config{Drift: drift}}
}

// usualDrift is the default of the key drift.
const usualDrift = 0.05

// checkClaims finds contradictions in spaces of protocol claim.
func (l *loader) checkClaims() {
	c := &l.config
	if l.badSpaces || !l.good("drift", "join") {
		return
	}
	refuse := func(s Space, wrong, allowed, fix string) {
		l.complain(Problem{"spaces." + s.Name, quote(s.String()), c.origins["spaces."+s.Name], wrong, allowed, fix})
	}
	groups := map[[2]string]string{}
	for _, s := range c.Spaces {
		d := described(s.Protocol)
		if !d.Stores {
			continue
		}
		resolved, err := d.Check(s.ProtocolOptions(), nil, probe(s.Name, c.Drift))
		if err != nil {
			wrong, fix, _ := strings.Cut(err.Error(), "; ")
			refuse(s, wrong, "", cmp.Or(fix, "change one of them"))
			continue
		}
		scheme, _, _ := strings.Cut(strings.ToLower(s.Store()), "://")
		if whose := map[string]string{"pebble": "one process's", "folder": "a folder of one machine"}[scheme]; c.Clustered() && whose != "" {
			refuse(s, "its store is "+whose+", and this is a member of a cluster: each member would give the locks once", "a store that all members share", "use another store")
		}
		key := [2]string{s.Store(), resolved.List().Effective()["group"]}
		if other, taken := groups[key]; taken {
			refuse(s, "space "+other+" has the same store and the same group, so either would give the locks of the other", "a group of its own", "write group="+s.Name)
		}
		groups[key] = s.Name
	}
}
