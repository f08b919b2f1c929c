package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-locks/holdfast"
)

// setting is a value on its way through the merge: the text as it was written, or
// a space, and where it was written.
type setting struct {
	Text   string
	Space  Space
	Origin string
}

// layer is what one source sets, by the name of the key. That of a space is "spaces." and its name.
type layer map[string]setting

// setSpace reports whether the name was free in this layer.
func (y layer) setSpace(s setting) bool {
	at := "spaces." + s.Space.Name
	_, taken := y[at]
	if !taken {
		y[at] = s
	}
	return !taken
}

// loader collects what is set and what is wrong with it.
type loader struct {
	config   Config
	keys     []Key
	merged   layer
	bad      map[string]bool // keys whose value did not parse: they stand at their default
	problems []Problem

	badSpaces    bool // a space was refused
	unconfigured bool // the default space
}

func (l *loader) complain(p Problem) { l.problems = append(l.problems, p) }

func (l *loader) key(name string) (Key, bool) {
	at := slices.IndexFunc(l.keys, func(k Key) bool { return k.Name == name })
	if at < 0 {
		return Key{}, false
	}
	return l.keys[at], true
}

// merge reads every source, and lays them over each other, the strongest last.
func (l *loader) merge(sources Sources) {
	flags := l.flagLayer(sources.Flags)
	file, origin := configFile(sources)
	l.config.File, l.config.origins["config"] = file, origin
	l.merged = l.defaultLayer()
	maps.Copy(l.merged, l.fileLayer(file, origin))
	maps.Copy(l.merged, l.environmentLayer(sources.Environ))
	maps.Copy(l.merged, flags)
}

func (l *loader) defaultLayer() layer {
	y := layer{}
	for _, key := range l.keys {
		if key.Kind != Spaces && key.Name != "config" {
			y[key.Name] = setting{Text: key.Default, Origin: "default"}
		}
	}
	y.setSpace(setting{Space: Space{Name: holdfast.DefaultSpace, Protocol: durable}, Origin: "default"})
	return y
}

// flagLayer takes flags in a fixed order, so that complaints have one too.
func (l *loader) flagLayer(flags map[string]string) layer {
	y := layer{}
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		key, known := l.key(name)
		if !known {
			l.complain(Problem{Key: name, Value: quote(flags[name]), Origin: "flags", Wrong: "there is no such key",
				Fix: suggest(name, l.names(), "leave it out")})
			continue
		}
		l.put(y, key, flags[name], "flag --"+key.Flag)
	}
	return y
}

// put sets one key to text in a layer. The key config is not part of the merge: it
// has been followed already.
func (l *loader) put(y layer, key Key, text, origin string) {
	switch {
	case key.Name == "config":
	case key.Kind == Spaces:
		l.addSpaces(y, text, origin)
	default:
		y[key.Name] = setting{Text: text, Origin: origin}
	}
}

func (l *loader) names() []string {
	names := make([]string, len(l.keys))
	for i, key := range l.keys {
		names[i] = key.Name
	}
	return names
}

// configFile finds the path of the file, and who named it.
func configFile(sources Sources) (file, origin string) {
	if file, given := sources.Flags["config"]; given && sources.File == "" {
		return file, "flag --config"
	}
	file, origin = "", "default"
	for _, entry := range sources.Environ {
		if value, found := strings.CutPrefix(entry, variable("config")+"="); found {
			file, origin = value, "environment "+variable("config")
		}
	}
	if sources.File != "" && sources.File != file {
		return sources.File, "flag --config"
	}
	return file, origin
}

// read makes values of the merged texts. A text that is wrong leaves its key at
// the default, so that the checks that follow have something to stand on.
func (l *loader) read() {
	for _, key := range l.keys {
		if key.Kind == Spaces {
			l.readSpaces()
			continue
		}
		found, present := l.merged[key.Name]
		if !present {
			continue
		}
		l.config.origins[key.Name] = found.Origin
		wrong := badText(found.Text)
		if wrong == nil {
			wrong = key.read(&l.config, found.Text)
		}
		if wrong == nil {
			continue
		}
		l.bad[key.Name] = true
		l.complain(Problem{key.Name, quote(found.Text), found.Origin, wrong.wrong, key.Allowed, wrong.fix})
		if again := key.read(&l.config, key.Default); again != nil {
			panic(fmt.Sprintf("config: the default %q of %s is refused: %s", key.Default, key.Name, again.wrong))
		}
	}
}

// badText refuses what no value may contain: it could not be printed and read again.
func badText(text string) *flaw {
	if !utf8.ValidString(text) {
		return &flaw{"it is not UTF-8", "write it in UTF-8"}
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		return &flaw{"it contains a control character", "take it out"}
	}
	return nil
}
