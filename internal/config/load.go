package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"

	"github.com/holdfast-locks/holdfast"
)

// delimiter separates the levels of a key while layers are merged. It does not occur in keys or names of spaces, while
// a dot may.
const delimiter = "/"

// setting is a value during the merge: its text as written, or a space, with its origin. Its fields are exported
// because the merge copies by reflection.
type setting struct {
	Text   string
	Space  Space
	Origin string
}

// layer has the settings of one source: by key, and spaces by name below the key spaces.
type layer map[string]any

// mergePath returns the path of a key in the merge.
func mergePath(key string) string { return strings.ReplaceAll(key, ".", delimiter) }

func (y layer) set(key string, s setting) {
	y[mergePath(key)] = s
}

// setSpace reports whether the name was free in this layer.
func (y layer) setSpace(s setting) bool {
	spaces, _ := y["spaces"].(map[string]any)
	if spaces == nil {
		spaces = map[string]any{}
		y["spaces"] = spaces
	}
	if _, taken := spaces[s.Space.Name]; taken {
		return false
	}
	spaces[s.Space.Name] = s
	return true
}

// loader collects the settings and problems.
type loader struct {
	config   Config
	keys     []Key
	merged   *koanf.Koanf
	bad      map[string]bool // keys whose value did not parse: they have their default
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

// layers reads every source, the weakest first.
func (l *loader) layers(sources Sources) []koanf.Provider {
	flags := l.flagLayer(sources.Flags)
	environment := l.environmentProvider(sources.Environ)
	file, origin := configFile(sources)
	l.config.File = file
	l.config.origins["config"] = origin
	return []koanf.Provider{
		confmap.Provider(l.defaultLayer(), delimiter),
		confmap.Provider(l.fileLayer(file, origin), delimiter),
		environment,
		confmap.Provider(flags, delimiter),
	}
}

// merge merges the layers.
func (l *loader) merge(layers []koanf.Provider) error {
	l.merged = koanf.New(delimiter)
	for _, provider := range layers {
		if err := l.merged.Load(provider, nil); err != nil {
			return fmt.Errorf("merge configuration: %w", err)
		}
	}
	return nil
}

func (l *loader) defaultLayer() layer {
	y := layer{}
	for _, key := range l.keys {
		if key.Kind != Spaces && key.Name != "config" {
			y.set(key.Name, setting{Text: key.Default, Origin: "default"})
		}
	}
	y.setSpace(setting{Space: Space{Name: holdfast.DefaultSpace, Protocol: durable}, Origin: "default"})
	return y
}

// flagLayer reads flags in a fixed order, for a stable order of problems.
func (l *loader) flagLayer(flags map[string]string) layer {
	y := layer{}
	names := make([]string, 0, len(flags))
	for name := range flags {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
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

// put sets one key to text in a layer. The key config is not part of the merge: it has already been used.
func (l *loader) put(y layer, key Key, text, origin string) {
	switch {
	case key.Name == "config":
	case key.Kind == Spaces:
		l.addSpaces(y, text, origin)
	default:
		y.set(key.Name, setting{Text: text, Origin: origin})
	}
}

func (l *loader) names() []string {
	names := make([]string, len(l.keys))
	for i, key := range l.keys {
		names[i] = key.Name
	}
	return names
}

// configFile returns the path of the file, and its origin.
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

// read parses the merged texts. A faulty text leaves its key at the default, for the checks that follow.
func (l *loader) read() {
	for _, key := range l.keys {
		if key.Kind == Spaces {
			l.readSpaces()
			continue
		}
		found, present := l.setting(mergePath(key.Name))
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

// setting returns the merged setting at a path.
func (l *loader) setting(path string) (setting, bool) {
	found, ok := l.merged.Get(path).(setting)
	return found, ok
}

// badText refuses characters that no value may contain: it could not be printed and read back.
func badText(text string) *flaw {
	if !utf8.ValidString(text) {
		return &flaw{"it is not UTF-8", "write it in UTF-8"}
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		return &flaw{"it contains a control character", "take it out"}
	}
	return nil
}
