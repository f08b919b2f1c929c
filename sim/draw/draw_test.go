package draw

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/sim"
	"github.com/holdfast-locks/holdfast/sim/timeline"
)

// timelineOf runs a seed of a protocol and returns its timeline.
func timelineOf(t *testing.T, protocol string, members int, faults sim.Faults, seed uint64) []timeline.Event {
	t.Helper()
	p, known := sim.Find(protocol)
	if !known {
		t.Fatalf("no protocol %q", protocol)
	}
	var events []timeline.Event
	c := sim.Config{
		Protocol: p, Members: members, Faults: faults, Duration: 15 * time.Second,
		Observe: func(h timeline.Event) { events = append(events, h) },
	}
	if _, err := sim.Run(c, seed, nil); err != nil {
		t.Fatal(err)
	}
	return events
}

// broken is a handmade timeline of two holders of one name.
func broken(names ...string) []timeline.Event {
	a, one, two, name := names[0], names[1], names[2], names[3]
	at := func(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }
	return []timeline.Event{
		{Kind: timeline.Lane, Who: a}, {Kind: timeline.Lane, Who: one, Client: true}, {Kind: timeline.Lane, Who: two, Client: true},
		{Kind: timeline.Started, Who: a}, {Kind: timeline.Started, Who: one}, {Kind: timeline.Started, Who: two},
		{At: at(1), Kind: timeline.Leased, Who: a}, {At: at(1), Kind: timeline.Reigned, Who: a},
		{At: at(1), Kind: timeline.Viewed, Who: a, Short: "view 1:1 " + a, Text: "view 1"},
		{At: at(5), Kind: timeline.Sent, Who: one, To: a, ID: 1, Short: "acquire " + name, Text: "acquire of " + name, Name: name},
		{At: at(7), Kind: timeline.Delivered, Who: a, To: a, ID: 1},
		{At: at(7), Kind: timeline.Sent, Who: a, To: one, ID: 2, Short: "granted " + name, Text: "granted " + name, Name: name},
		{At: at(9), Kind: timeline.Delivered, Who: one, To: one, ID: 2},
		{At: at(9), Kind: timeline.Granted, Who: one, By: one + ".0", ID: 1, Name: name, Mode: "exclusive", Token: 4},
		{At: at(20), Kind: timeline.Paused, Who: one, Until: at(9000)},
		{At: at(30), Kind: timeline.Fault, Who: a, Short: "disk-slow", Text: "the disk is slow", Lanes: []string{a}},
		{At: at(900), Kind: timeline.Fault, Short: "partition", Text: "the network comes apart", Lanes: []string{a, one}, Until: at(1200)},
		{At: at(1500), Kind: timeline.Sent, Who: two, To: a, ID: 3, Short: "acquire " + name, Text: "acquire", Name: name},
		{At: at(1501), Kind: timeline.Copied, Who: a, ID: 4, Of: 3},
		{At: at(1502), Kind: timeline.Delivered, Who: a, To: a, ID: 3},
		{At: at(1600), Kind: timeline.Delivered, Who: a, To: a, ID: 4, Late: true},
		{At: at(1600), Kind: timeline.Sent, Who: a, To: two, ID: 5, Short: "granted " + name, Text: "granted", Name: name},
		{At: at(1600), Kind: timeline.Lost, Who: two, To: two, ID: 5, Why: "lost"},
		{At: at(1700), Kind: timeline.Sent, Who: a, To: two, ID: 6, Short: "granted " + name, Text: "granted", Name: name},
		{At: at(1701), Kind: timeline.Delivered, Who: two, To: two, ID: 6},
		{At: at(1701), Kind: timeline.Granted, Who: two, By: two + ".0", ID: 2, Name: name, Mode: "exclusive", Token: 7},
		{At: at(1701), Kind: timeline.Held, Who: one, ID: 1, Name: name, Until: at(2400)},
		{At: at(1701), Kind: timeline.Violated, Promise: "P1", Name: name, Text: "both hold " + name, Grants: []uint64{1, 2}, Lanes: []string{one, two}},
	}
}

// drawn returns the document, and its layout.
func drawn(t *testing.T, p Picture, events []timeline.Event) (string, *layout) {
	t.Helper()
	var b strings.Builder
	if err := p.Write(&b, events); err != nil {
		t.Fatal(err)
	}
	l := newLayout(choose(read(events), &p), &p)
	l.place()
	return b.String(), l
}

// texts parses a document, and returns all its texts.
func texts(t *testing.T, document string) (all []string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(document))
	d.Strict = true
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("the document is not well-formed: %v", err)
		}
		if data, is := token.(xml.CharData); is && strings.TrimSpace(string(data)) != "" {
			all = append(all, string(data))
		}
	}
}

// cases are runs of all sizes.
func cases(t *testing.T) map[string]struct {
	Picture
	events []timeline.Event
} {
	type pictured = struct {
		Picture
		events []timeline.Event
	}
	all := map[string]pictured{
		"nothing":     {Picture{Title: "nothing"}, nil},
		"only lanes":  {Picture{}, broken("a", "client0", "client1", "n0")[:3]},
		"broken":      {Picture{Title: "toy"}, broken("a", "client0", "client1", "n0")},
		"long names":  {Picture{}, broken(strings.Repeat("member", 9), strings.Repeat("client", 9), strings.Repeat("ü", 80), strings.Repeat("name/", 50))},
		"wide names":  {Picture{}, broken("成员一", "クライアント", "🔒🔒🔒🔒🔒🔒🔒🔒🔒", "锁/名字")},
		"five":        {Picture{Title: "five"}, timelineOf(t, "central", 5, sim.Within, 3)},
		"seven":       {Picture{Title: "seven"}, timelineOf(t, "central", 7, sim.Within, 11)},
		"election":    {Picture{Title: "election"}, timelineOf(t, "election", 3, sim.Within, 5)},
		"quiet":       {Picture{Title: "quiet"}, timelineOf(t, "central", 3, 0, 2)},
		"one member":  {Picture{}, timelineOf(t, "central", 1, sim.Within, 4)},
		"a window":    {Picture{From: 3 * time.Second, To: 9 * time.Second}, timelineOf(t, "central", 5, sim.Within, 3)},
		"wide window": {Picture{From: time.Second, Events: 60}, timelineOf(t, "central", 5, sim.Within, 8)},
		"one crash":   {Picture{}, timelineOf(t, "central", 3, 1<<sim.Crash, 2)},
		"partitions":  {Picture{Events: 400}, timelineOf(t, "central", 4, 1<<sim.Partition|1<<sim.OneWay, 2)},
		"beyond":      {Picture{}, timelineOf(t, "central", 3, sim.Within|sim.Beyond, 11)},
		"too late":    {Picture{From: 10 * time.Minute}, timelineOf(t, "central", 3, 0, 2)},
	}
	return all
}

// TestPictures checks what must hold of every picture.
func TestPictures(t *testing.T) {
	for name, c := range cases(t) {
		t.Run(name, func(t *testing.T) {
			document, l := drawn(t, c.Picture, c.events)
			again, _ := drawn(t, c.Picture, c.events)
			if document != again {
				t.Error("the same timeline is drawn otherwise the second time")
			}
			if len(document) > 1<<20 {
				t.Errorf("the picture has %d bytes", len(document))
			}
			checkLanes(t, l, texts(t, document))
			checkLabels(t, l)
			checkBars(t, l)
			checkOrder(t, l)
		})
	}
}

// checkLanes checks that every member has a lane with its name, and so has every client that is shown.
func checkLanes(t *testing.T, l *layout, found []string) {
	for i := range l.run.lanes {
		switch shown := l.column[i] >= 0; {
		case !shown && !l.run.lanes[i].client:
			t.Errorf("member %q has no lane", l.run.lanes[i].name)
		case shown && !slices.Contains(found, l.nameOf(i)):
			t.Errorf("lane %q has no name", l.nameOf(i))
		}
	}
	for _, m := range l.messages {
		if l.column[m.from] < 0 || l.column[m.to] < 0 {
			t.Errorf("a message of %s to %s is shown without its lanes", l.run.lanes[m.from].name, l.run.lanes[m.to].name)
		}
	}
}

// checkLabels checks that no label covers another or leaves the picture, and that each is in its own gap.
func checkLabels(t *testing.T, l *layout) {
	all := append(slices.Clone(l.labels), l.times...)
	for _, b := range append(slices.Clone(l.bands), l.breaks...) {
		all = append(all, label{box: b.box, text: b.lines[0]})
	}
	for i, y := range l.heads {
		if i > 0 {
			all = append(all, label{box: box{l.left, y, l.right, y + headSize}, text: "the names of the lanes"})
		}
	}
	for i := range all {
		a := &all[i]
		if a.x1 < 0 || a.x2 > l.width || a.y1 < 0 || a.y2 > l.y+1 {
			t.Errorf("%q leaves the picture: %v", a.text, a.box)
		}
		for j := range all[:i] {
			if a.overlaps(all[j].box) {
				t.Errorf("%q at %v covers %q at %v", a.text, a.box, all[j].text, all[j].box)
			}
		}
	}
}

// checkBars checks that each bar is next to its own lane, and that no two overlap.
func checkBars(t *testing.T, l *layout) {
	for i, p := range l.pieces {
		if !p.placed || p.y2 < p.y1 {
			t.Errorf("the bar of %s from %v to %v is drawn from %.1f to %.1f", p.by, p.from, p.to, p.y1, p.y2)
		}
		if p.x >= float64(l.slots[p.lane]) || p.x < 0 {
			t.Errorf("the bar of %s stands at place %v of %d", p.by, p.x, l.slots[p.lane])
		}
		for _, o := range l.pieces[:i] {
			if o.lane == p.lane && o.x == p.x && p.y1 < o.y2 && o.y1 < p.y2 {
				t.Errorf("two bars of lane %d share a place: %v and %v, %.1f–%.1f and %.1f–%.1f", p.lane, o.bar, p.bar, o.y1, o.y2, p.y1, p.y2)
			}
			if p.from > o.from && p.placed && o.placed && p.y1 < o.y1 {
				t.Errorf("%s began after %s and is drawn above it", p.by, o.by)
			}
		}
	}
}

// checkOrder checks that later elements are lower.
func checkOrder(t *testing.T, l *layout) {
	for i := 1; i < len(l.anchors); i++ {
		if a, b := l.anchors[i-1], l.anchors[i]; b.y < a.y || b.at < a.at {
			t.Errorf("%v is at %.1f, and %v after it at %.1f", a.at, a.y, b.at, b.y)
		}
	}
	for i := range l.arrows {
		if a := &l.arrows[i]; a.y2 < a.y1 {
			t.Errorf("%q arrives before it was sent", a.short)
		}
	}
}

// TestABrokenPromiseIsSeen checks the words, the bars and the lanes of a broken promise.
func TestABrokenPromiseIsSeen(t *testing.T) {
	document, l := drawn(t, Picture{Title: "toy", Repeat: "holdfast sim --seed 7"}, broken("a", "client0", "client1", "n0"))
	all := strings.Join(texts(t, document), "\n")
	for _, want := range []string{
		"toy: P1 (exclusion) is not kept at 1.701 s", "holdfast sim --seed 7",
		"client0.0 holds n0 (token 4) since 0.009 s, and until 2.400 s if nothing more comes.",
		"client1.0 holds n0 (token 7) from now on.", "granted n0 ✕", "×2", "partition is over", "paused", "may grant",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("the picture does not say %q:\n%s", want, all)
		}
	}
	if n := strings.Count(document, `class="bar exclusive guilty"`); n != 2 {
		t.Errorf("%d bars are outlined in red, want both", n)
	}
	if !slices.ContainsFunc(l.bands, func(b band) bool { return b.class == "broken" }) {
		t.Error("no band marks the instant")
	}
}

// TestALongTitle checks that a long title leaves the words about the broken promise to the band below it, with the full
// text for readers that cannot see the picture, or that hover over the title.
func TestALongTitle(t *testing.T) {
	title := "central without a rule whose name is rather long"
	document, l := drawn(t, Picture{Title: title}, broken("a", "one", "two", "n0"))
	found := texts(t, document)
	if !slices.Contains(found, title+": P1 is not kept") {
		t.Errorf("the title is not whole in a picture of %v: %q", l.width, found[:3])
	}
	if want := "<title id=\"hf-title\">" + title + ": P1 (exclusion) is not kept at 1.701 s"; !strings.Contains(document, want) {
		t.Errorf("%q is not in the picture", want)
	}
}

// TestHostileNames checks that any name of a client or member is plain text.
func TestHostileNames(t *testing.T) {
	evil := []string{`</text><script>alert(1)</script>`, "\u202egnp.x", "a\x00b\xff\x1b[31m", `"'&amp;<!--`}
	document, _ := drawn(t, Picture{Title: evil[0] + evil[2], Repeat: evil[3]}, broken(evil...))
	for _, text := range texts(t, document) {
		if strings.ContainsAny(text, "\u202e\x00\x1b") {
			t.Errorf("%q has a character that no label may have", text)
		}
	}
	for _, tag := range []string{"<script", "<!--"} {
		if strings.Contains(document, tag) {
			t.Errorf("the document has %s", tag)
		}
	}
}

// TestWhatIsRefused checks that the error names the wrong value and the allowed ones.
func TestWhatIsRefused(t *testing.T) {
	for want, p := range map[string]Picture{
		"From is -1s": {From: -time.Second}, "To is 1s": {From: 2 * time.Second, To: time.Second}, "10 to 2000 is allowed": {Events: 3},
	} {
		if err := p.Write(io.Discard, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q in it", p, err, want)
		}
	}
	err := Picture{}.Write(io.Discard, []timeline.Event{{Kind: timeline.Woke, Who: "a"}})
	if err == nil || !strings.Contains(err.Error(), "no timeline") {
		t.Errorf("what is no timeline: %v", err)
	}
	if err := (Picture{}).Write(full{}, nil); !errors.Is(err, errFull) {
		t.Errorf("where nothing can be written: %v", err)
	}
}

var errFull = errors.New("no room")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestAtMostSoManyEvents checks that a picture shows the allowed number of events, and only slightly more if they
// happen at once.
func TestAtMostSoManyEvents(t *testing.T) {
	events := timelineOf(t, "central", 5, sim.Within, 3)
	for _, most := range []int{10, 50, 200} {
		for _, p := range []Picture{{Events: most}, {From: 2 * time.Second, Events: most}, {From: time.Second, To: 20 * time.Second, Events: most}} {
			c := choose(read(events), &p)
			shown := len(c.messages) + len(c.bars) + len(c.marks)
			if shown > most+most/2+10 || shown < most/2 {
				t.Errorf("%+v shows %d events: %d messages, %d bars, %d marks", p, shown, len(c.messages), len(c.bars), len(c.marks))
			}
		}
	}
}

// TestReadable checks that tokens are shortened, and nothing else.
func TestReadable(t *testing.T) {
	got := readable("c holds \"n0\", token 15461882495060001, since 1.5 s of 3 after 12345: 15461882495060012")
	if want := "c holds \"n0\", token 3600000:229460001, since 1.5 s of 3 after 12345: 3600000:229460012"; got != want {
		t.Errorf("the sentence is %q, want %q", got, want)
	}
}

func TestWrapAndFit(t *testing.T) {
	for _, text := range []string{"", "a", "a long line of words", strings.Repeat("x", 50), strings.Repeat("字", 30), "one " + strings.Repeat("y", 40) + " two"} {
		for most := 3; most < 30; most++ {
			if n := cells(fit(text, most)); n > most {
				t.Errorf("%q is fitted to %d cells, not %d", text, n, most)
			}
			joined := ""
			for _, line := range wrap(text, most) {
				if joined += line; cells(line) > most {
					t.Errorf("line %q has %d cells, not %d", line, cells(line), most)
				}
			}
			if got, want := strings.ReplaceAll(joined, " ", ""), strings.ReplaceAll(text, " ", ""); got != want {
				t.Errorf("%q wrapped to %d is %q", text, most, joined)
			}
		}
	}
	if got := fmt.Sprint(short(1234*time.Microsecond), short(1500*time.Millisecond), short(12)); got != "1 ms1.50 s12ns" {
		t.Errorf("lengths are %q", got)
	}
}
