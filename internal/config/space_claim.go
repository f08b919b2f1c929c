package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-locks/holdfast/protocol/claim"
	"github.com/holdfast-locks/holdfast/storage/open"
)

// storeOption is the option with the URL of a store, which may have a password.
const storeOption = "store"

// claimOptions are those of protocol claim. What they do package protocol/claim says, and what a
// URL may be, package storage/open. Those that are not given are left to that protocol, which
// knows what fits the others.
func claimOptions() []option {
	return []option{
		{name: storeOption, says: strings.Join(schemes(), "://…, ") + "://…, /FOLDER", left: "a space of protocol claim has one", text: judgeStore},
		{name: "wait", timed: true, span: span{time.Millisecond, time.Minute}, left: "100ms"},
		{name: "expiry", timed: true, span: span{10 * time.Millisecond, 24 * time.Hour}, left: "30s, or more where wait asks for it"},
		{name: "retries", most: 100, left: "3"},
		{name: "skew", timed: true, span: span{time.Microsecond, time.Minute}, left: "5/12 of wait"},
		{name: "unit", keywords: []string{"us", "ms", "ns"}},
		{name: "rid", says: "1 to 96 bytes", left: "where the process runs", text: judgeBytes(96)},
		{name: "group", says: "1 to 256 bytes", left: "the name of the space", text: judgeBytes(256)},
		{name: "cas", keywords: []string{"false", "true"}, alone: true},
		{name: "hold_on", keywords: []string{"off", "on"}, usual: 10 * time.Millisecond, span: span{time.Millisecond, time.Second}},
		{name: "clock", keywords: []string{"machine", "store"}},
		{name: "cleaner", keywords: []string{"false", "true"}, alone: true},
	}
}

// schemes are those of stores that outlive the process.
func schemes() []string {
	return slices.DeleteFunc(open.Schemes(), func(scheme string) bool { return scheme == inMemory })
}

// inMemory is the scheme of a store that is gone with its process, while clients go on believing in
// what it has granted.
const inMemory = "memory"

// judgeStore finds what is no URL of a store before anything is opened. It shows nothing that
// could be a part of a password.
func judgeStore(url string) *flaw {
	url = open.Folder(url)
	scheme, rest, found := strings.Cut(url, "://")
	if !found {
		return &flaw{"it is no URL", "write it as in postgres://HOST/DATABASE, or give a folder of this machine from its root on, as in /var/lib/locks"}
	}
	switch scheme = strings.ToLower(scheme); {
	case scheme == inMemory:
		return &flaw{"what is in a process's memory is gone when it ends, and seen by no other", "use pebble:///FOLDER"}
	case !slices.Contains(schemes(), scheme):
		return &flaw{"no store has this scheme", suggest(scheme, schemes(), "use one of "+strings.Join(schemes(), ", "))}
	}
	if wrong := badText(url); wrong != nil {
		return wrong
	}
	// Behind the last @ there is no password any more.
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	if strayed := regexp.MustCompile(`,([A-Za-z_]+)=`).FindStringSubmatch(rest); strayed != nil {
		names := optionNames(optionsOf("claim"))
		return &flaw{"behind a comma it has " + quote(strayed[1]+"=") + ", which is no option of protocol claim",
			suggest(strayed[1], names, "write %2C for a comma that is a part of the URL")}
	}
	return nil
}

// judgeBytes takes a text of at most so many bytes.
func judgeBytes(most int) func(string) *flaw {
	return func(text string) *flaw {
		switch {
		case text == "":
			return &flaw{"it is empty", "leave it out, or give a text"}
		case len(text) > most:
			return &flaw{"it is too long", "shorten it"}
		case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
			return badText(text)
		}
		return nil
	}
}

// splitOptions takes apart what stands behind a protocol. A URL has commas of its own, between hosts: it
// goes on until something that is an option of the protocol.
func splitOptions(protocol, text string) (parts []string) {
	options := optionsOf(protocol)
	begins := func(part string) bool {
		name, _, valued := strings.Cut(part, "=")
		name = strings.TrimSpace(name)
		return slices.ContainsFunc(options, func(o option) bool { return o.name == name && (valued || o.alone) })
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

// redacted is the value of an option as it may be shown. A store's URL is without its password; what may
// be one in the wrong place is not shown.
func redacted(name, value string) string {
	switch name {
	case storeOption:
		return open.Redacted(value)
	case "rid", "group": // of which an @ may be a part
		if !strings.Contains(value, "://") {
			return value
		}
	}
	return hushed(value)
}

// hushed is a text without what may be a URL.
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

// redactedItem is the text of a whole space as it may be shown.
func redactedItem(text string) string {
	if before, url, found := strings.Cut(text, storeOption+"="); found {
		return hushed(before) + storeOption + "=" + open.Redacted(url)
	}
	return hushed(text)
}

// Store is the URL of the store of a space of protocol claim; "" of any other. It may have a
// password.
func (s Space) Store() string { return open.Folder(s.Options[storeOption]) }

// Claims are the options of protocol claim. What was not given is zero.
func (s Space) Claims() claim.Options {
	units := map[string]claim.Unit{"us": claim.Micro, "ms": claim.Milli, "ns": claim.Nano}
	return claim.Options{
		Wait: s.OptionDuration("wait"), Expiry: s.OptionDuration("expiry"), Skew: s.OptionDuration("skew"),
		Retries: s.OptionCount("retries"), Unit: units[s.Option("unit")], RID: s.Option("rid"), Group: s.Option("group"),
		CAS: s.OptionSwitch("cas"), HoldOn: s.OptionDuration("hold_on"), StoreClock: s.Option("clock") == "store", Cleaner: s.OptionSwitch("cleaner"),
	}
}

// StoreSettings reads the URL of a store, and option=value[,option=value…] of protocol claim, for a
// process that takes locks there without a member. The error is a sentence that names the option, what is
// allowed and the fix, and has no password in it.
func StoreSettings(url, options string) (claim.Options, error) {
	if wrong := judgeStore(url); wrong != nil {
		return claim.Options{}, fmt.Errorf("store %s: %s; %s", open.Redacted(url), wrong.wrong, wrong.fix)
	}
	refused := func(name, text string) error { return fmt.Errorf("option %s %s", quote(hushed(name)), text) }
	space := Space{Name: "default", Protocol: "claim"}
	all := slices.DeleteFunc(claimOptions(), func(o option) bool { return o.name == storeOption })
	for part := range strings.SplitSeq(options, ",") {
		if strings.TrimSpace(options) == "" {
			break
		}
		name, value, valued := strings.Cut(part, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		at := slices.IndexFunc(all, func(o option) bool { return o.name == name })
		switch {
		case at < 0:
			return claim.Options{}, refused(name, "is not known; allowed: "+strings.Join(optionNames(all), ", ")+"; "+suggest(name, optionNames(all), "leave it out"))
		case !valued && !all[at].alone:
			return claim.Options{}, refused(name, "has no value; write option=value")
		case !valued:
			value = "true"
		}
		if wrong := all[at].judge(value); wrong != nil {
			return claim.Options{}, refused(name, fmt.Sprintf("cannot be %s; allowed: %s; %s", quote(redacted(name, value)), all[at].allowed(), wrong.fix))
		}
		if wrong := space.setOption(name, value); wrong != nil {
			return claim.Options{}, refused(name, "is given twice; give it once")
		}
	}
	resolved := space.Claims()
	resolved.Group, resolved.RID = "default", "drawn"
	if err := resolved.Resolve(usualDrift); err != nil {
		return claim.Options{}, err
	}
	return space.Claims(), nil
}

// usualDrift is the key drift where it is not set.
const usualDrift = 0.05

// checkClaims finds what contradicts itself in spaces of protocol claim.
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
		if s.Protocol != "claim" {
			continue
		}
		claims := s.Claims()
		claims.Group, claims.RID = cmp.Or(claims.Group, s.Name), cmp.Or(claims.RID, "drawn")
		if err := claims.Resolve(c.Drift); err != nil {
			wrong, fix, _ := strings.Cut(err.Error(), "; ")
			refuse(s, wrong, "", cmp.Or(fix, "change one of them"))
		}
		scheme, _, _ := strings.Cut(strings.ToLower(s.Store()), "://")
		if c.Clustered() && scheme == "pebble" {
			refuse(s, "its store is one process's, and this is a member of a cluster: each member would give the locks once", "a store that all members share", "use another store")
		}
		key := [2]string{s.Store(), claims.Group}
		if other, taken := groups[key]; taken {
			refuse(s, "space "+other+" has the same store and the same group, so either would give the locks of the other", "a group of its own", "write group="+s.Name)
		}
		groups[key] = s.Name
	}
}
