package draw

import (
	"fmt"
	"strings"
)

// palette has the colours of a picture. No colour has a meaning alone: each comes with a shape, a dash or a word.
type palette struct {
	ground string // behind everything
	ink    string // names, times, titles
	faint  string // remarks
	line   string // lifelines and other thin things
	guide  string // the lightest lines, which carry no information
	sent   string // messages
	late   string // late messages
	copy   string // duplicated messages
	lost   string // lost messages, and faults
	held   string // grants
	bar    string // the inside of grants
	reign  string // members that may grant
	mark   string // views and lives
	cut    string // behind faults of several lanes
	wrong  string // the broken promise
	behind string // behind the broken promise
}

// light is the default palette; dark replaces it for readers that prefer a dark one.
var (
	light = palette{
		ground: "#ffffff", ink: "#1f2328", faint: "#59636e", line: "#7d8590", guide: "#e6eaef", sent: "#0a58c2", late: "#7a3ec8", copy: "#0b6e75",
		lost: "#8f5400", held: "#116329", bar: "#a6e0b4", reign: "#3d4752", mark: "#3d4752", cut: "#fff4d6", wrong: "#b3101f", behind: "#ffe3e1",
	}
	dark = palette{
		ground: "#0d1117", ink: "#e6edf3", faint: "#9aa4af", line: "#6e7681", guide: "#21262d", sent: "#6cb1ff", late: "#c297ff", copy: "#4fc4cf",
		lost: "#e3a233", held: "#56d364", bar: "#1f6f35", reign: "#b6bfc9", mark: "#b6bfc9", cut: "#2f2508", wrong: "#ff8078", behind: "#4a1218",
	}
)

// shapes are the style rules without colours.
const shapes = `text{font:11px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;white-space:pre}
.title{font-size:16px;font-weight:700}
.name{font-size:12px;font-weight:600;text-anchor:middle}
.strong{font-weight:700}
.end{text-anchor:end}
.pad{opacity:.88}
.life{stroke-width:1.5}
.down{stroke-width:1.2;stroke-dasharray:1 5}
.arrow{fill:none;stroke-width:1.3}
.arrow.lost{stroke-dasharray:4 3}
.arrow.late{stroke-dasharray:9 3}
.arrow.copy{stroke-dasharray:1.5 2.5;stroke-width:1.8}
.arrow.far{opacity:.45;stroke-width:1}
.guide,.tick,.lease,.reign,.zig{fill:none}
.tick{stroke-width:1}
.bar{stroke-width:1.2}
.bar.shared{stroke-dasharray:5 2}
.bar.slots{stroke-dasharray:2 2}
.bar.guilty{stroke-width:2.6;stroke-dasharray:none}
.sign{stroke-width:1.6}
`

// style is the style sheet of a picture.
func style() string {
	return shapes + light.rules() + "@media (prefers-color-scheme:dark){\n" + dark.rules() + "}\n"
}

// rules are the style rules with the colours of the classes.
func (p *palette) rules() string {
	var b strings.Builder
	rule := func(selector, declaration string, colours ...any) {
		// A strings.Builder does not return errors.
		_, _ = fmt.Fprintf(&b, selector+"{"+declaration+"}\n", colours...)
	}
	rule(".ground,.pad", "fill:%s", p.ground)
	rule("text", "fill:%s", p.ink)
	rule(".faint", "fill:%s", p.faint)
	rule(".box", "fill:%s;stroke:%s", p.ground, p.line)
	rule(".life,.down,.zig", "stroke:%s", p.line)
	rule(".guide", "stroke:%s", p.guide)
	rule(".tick", "stroke:%s", p.line)
	rule(".lease", "fill:%s;stroke:%s", p.ground, p.line)
	rule(".reign", "fill:%s;stroke:%s", p.reign, p.reign)
	rule(".pause", "fill:%s;stroke:%s", p.cut, p.lost)
	for _, class := range []struct{ name, colour string }{{"msg", p.sent}, {"late", p.late}, {"copy", p.copy}, {"lost", p.lost}} {
		rule(".arrow."+class.name, "stroke:%s", class.colour)
		rule(".head."+class.name, "fill:%s;stroke:%s", class.colour, class.colour)
		rule("text."+class.name, "fill:%s", class.colour)
	}
	rule(".bar", "fill:%s;stroke:%s", p.bar, p.held)
	rule("text.held", "fill:%s", p.held)
	rule("text.mark", "fill:%s", p.mark)
	rule("text.fault", "fill:%s", p.lost)
	rule(".sign", "fill:%s;stroke:%s", p.ground, p.mark)
	rule(".sign.fault", "fill:%s;stroke:%s", p.cut, p.lost)
	rule(".band.cut", "fill:%s;stroke:%s", p.cut, p.lost)
	rule(".band.remark", "fill:%s;stroke:%s", p.ground, p.line)
	rule(".band.broken", "fill:%s;stroke:%s", p.behind, p.wrong)
	rule(".bar.guilty", "fill:%s;stroke:%s", p.behind, p.wrong)
	rule("text.wrong", "fill:%s", p.wrong)
	return b.String()
}
