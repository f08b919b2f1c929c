package top

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/test/golden"
)

// noon is when the tests look.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) *timestamppb.Timestamp { return timestamppb.New(noon.Add(-d)) }

// screen is a view without a terminal.
type screen struct {
	t         *testing.T
	model     Model
	questions []question // that it has asked, oldest first
}

func newScreen(t *testing.T, width, height int) *screen {
	s := &screen{t: t}
	s.model = newModel(Config{
		Server: "127.0.0.1:4040", Interval: 2 * time.Second, Age: func(d time.Duration) string { return d.Round(time.Second).String() },
		Explain: error.Error,
	}, func(q question) sample {
		s.questions = append(s.questions, q)
		return sample{question: q}
	}, noon)
	s.send(tea.WindowSizeMsg{Width: width, Height: height})
	return s
}

// send updates the view, and runs the refresh that it asks for, up to its question.
func (s *screen) send(message tea.Msg) {
	model, command := s.model.Update(message)
	s.model = model.(Model)
	if _, tick := message.(tickMsg); command != nil && !tick {
		command()
	}
}

// press presses keys.
func (s *screen) press(keys ...string) {
	for _, name := range keys {
		s.send(keyOf(name))
	}
}

func keyOf(name string) tea.KeyPressMsg {
	special := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "down": tea.KeyDown, "up": tea.KeyUp, "backspace": tea.KeyBackspace, "end": tea.KeyEnd}
	if code, found := special[name]; found {
		return tea.KeyPressMsg{Code: code}
	}
	if name == "space" {
		return tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

// answer is a refresh that has succeeded.
func (s *screen) answer(edit func(*sample)) {
	found := sample{question: question{space: s.model.space, prefix: s.model.filter, lock: s.model.lock}, status: testStatus(), rates: testRates()}
	if s.model.lock == (lockKey{}) {
		found.locks = testLocks()
	} else {
		found.detail = testLocks()[0]
	}
	if edit != nil {
		edit(&found)
	}
	s.send(sampleMsg{found, noon})
}

// frame returns what the screen shows, without colours; its size is checked.
func (s *screen) frame() string {
	s.t.Helper()
	lines := strings.Split(ansi.Strip(s.model.frame()), "\n")
	if len(lines) != s.model.height {
		s.t.Errorf("%d lines on a screen of %d", len(lines), s.model.height)
	}
	for i, line := range lines {
		if width := ansi.StringWidth(line); width > s.model.width {
			s.t.Errorf("line %d is %d wide: %s", i, width, line)
		}
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

func testStatus() *schema.Status {
	member := func(name string, voter bool) *schema.Member {
		return &schema.Member{Name: name, Voter: voter, Address: "10.0.0." + name[1:] + ":4040", State: "normal", Election: "normal", Since: ago(26 * time.Hour)}
	}
	return &schema.Status{
		Version: "v1.0", Cluster: "2be3453umip12", Member: member("m1", true), Expected: 3,
		View:    &schema.View{Number: 4, Coordinator: "m1", Members: []*schema.Member{member("m1", true), member("m2", true), member("g4", false)}},
		Missing: []*schema.MissingMember{{Name: "m3", Address: "10.0.0.3:4040", Since: ago(90 * time.Second)}},
		Spaces: []*schema.Space{
			{Name: "default", Protocol: "consensus", Class: schema.Class_CLASS_FENCED, State: "ready", Authority: []string{"m1"}, Locks: 3, Waiters: 3, Sessions: 6},
			{Name: "jobs", Protocol: "grantor", Class: schema.Class_CLASS_FENCED, State: "ready", Authority: []string{"m2"}, Locks: 1, Sessions: 1},
		},
	}
}

func testRates() rates {
	return rates{
		known: true, names: map[lockKey]float64{{"default", "counter"}: 12.5, {"default", "deploy"}: 0.3, {"jobs", "spare"}: 3},
		spaces: map[string]float64{"default": 12.8, "jobs": 3},
	}
}

func testLocks() []*schema.Lock {
	exclusive := schema.Mode_MODE_EXCLUSIVE
	return []*schema.Lock{
		{
			Space: "default", Name: "deploy", Mode: exclusive, Token: 123832948333224994,
			Holders: []*schema.Grant{{Owner: "ann", Member: "m1", Client: "holdfast@m1 pid 77", Session: "1wrpt2z364zqe-1z141z6", Token: 123832948333224994, Mode: exclusive, Since: ago(192 * time.Second), Until: ago(-7 * time.Second), Reason: "release 7", Value: "http://10.0.0.7:80\n\x1b[31mred"}},
			Waiters: []*schema.Wait{
				{Owner: "job-1", Member: "m2", Client: "c1", Session: "s1", Mode: exclusive, Since: ago(40 * time.Second), Until: ago(-20 * time.Second), Position: 0, Reason: "nightly", Value: "v8"},
				{Owner: "job-2", Member: "m1", Client: "c2", Session: "s2", Mode: exclusive, Since: ago(12 * time.Second), Position: 1},
			},
			History: []*schema.Grant{{Owner: "bob", Member: "m2", Token: 123832948333224990, Mode: exclusive, Since: ago(900 * time.Second), Until: ago(300 * time.Second)}},
		},
		{Space: "default", Name: "counter", Mode: exclusive, Token: 5, Holders: []*schema.Grant{{Client: "holdfast@m2 pid 4711", Member: "m2", Mode: exclusive, Since: ago(0)}}},
		{
			Space: "default", Name: "cache/eu-west/customers/and/more", Mode: schema.Mode_MODE_SHARED,
			Holders: []*schema.Grant{{Owner: "r1", Member: "m1", Since: ago(10 * time.Minute)}, {Owner: "r2", Member: "m2", Since: ago(20 * time.Minute)}},
			Waiters: []*schema.Wait{{Owner: "writer", Member: "m2", Mode: exclusive, Since: ago(5 * time.Minute), Position: 0, Reason: "refill\x1b[2J"}},
		},
		{Space: "jobs", Name: "import", Mode: exclusive, Holders: []*schema.Grant{{Owner: "etl", Member: "m2", Mode: exclusive, Since: ago(time.Hour)}}},
	}
}

// TestFrames compares what each pane shows on a small and on a larger terminal.
func TestFrames(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		for name, keys := range map[string][]string{
			"members": {"1"}, "spaces": {"2"}, "names": {"3"}, "waits": {"4"}, "lock": {"3", "enter"}, "help": {"?"},
		} {
			s := newScreen(t, size[0], size[1])
			s.answer(nil)
			s.press(keys...)
			s.answer(nil)
			golden.Match(t, filepath.Join("testdata", fmt.Sprintf("%s-%dx%d.txt", name, size[0], size[1])), s.frame())
		}
	}
}

// TestSmallScreens: no size is too small to draw.
func TestSmallScreens(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {20, 5}, {40, 6}, {300, 100}} {
		s := newScreen(t, size[0], size[1])
		for _, keys := range [][]string{nil, {"1"}, {"2"}, {"4"}, {"enter"}, {"?"}} {
			s.press(keys...)
			s.answer(nil)
			s.frame()
		}
	}
}

// columnOf returns a column of the shown rows.
func (s *screen) columnOf(column int) string {
	var cells []string
	for _, row := range s.model.rows() {
		cells = append(cells, row.cells[column])
	}
	return strings.Join(cells, " ")
}

// TestSpaceColumn: the names of one space do not repeat it.
func TestSpaceColumn(t *testing.T) {
	s := newScreen(t, 300, 24)
	s.answer(nil)
	if !strings.Contains(s.frame(), "SPACE") {
		t.Errorf("got:\n%s", s.frame())
	}
	s.answer(func(found *sample) { found.status.Spaces = found.status.Spaces[:1] })
	if strings.Contains(s.frame(), "SPACE") {
		t.Errorf("got:\n%s", s.frame())
	}
}

// TestOrder: s chooses what the names are ordered by, r reverses it.
func TestOrder(t *testing.T) {
	s := newScreen(t, 120, 24)
	s.answer(nil)
	for _, step := range []struct{ key, want string }{
		{"", "deploy cache/eu-west/customers/and/more counter import spare"},  // waiters
		{"s", "import cache/eu-west/customers/and/more deploy counter spare"}, // held for the longest time
		{"s", "counter spare deploy cache/eu-west/customers/and/more import"}, // grants
		{"s", "cache/eu-west/customers/and/more counter deploy import spare"}, // name
		{"r", "spare import deploy counter cache/eu-west/customers/and/more"}, // reversed
		{"s", "deploy cache/eu-west/customers/and/more counter import spare"}, // waiters again
	} {
		if step.key != "" {
			s.press(step.key)
		}
		if got := s.columnOf(0); got != step.want {
			t.Errorf("after %q: %s, want %s", step.key, got, step.want)
		}
	}
	s.press("4")
	if got := s.columnOf(2); got != "writer job-1 job-2" {
		t.Errorf("the waits are ordered as %s", got)
	}
}

// TestSelectionFollowsItsRow: a refresh that moves the selected row moves the selection, if a user has chosen the row;
// otherwise the first row is selected, as after a change of the order.
func TestSelectionFollowsItsRow(t *testing.T) {
	s := newScreen(t, 80, 24)
	s.answer(func(found *sample) { found.locks = found.locks[1:] })
	s.answer(nil)
	if v := s.model.views[paneNames]; v.selected != "default/deploy" || v.at != 0 {
		t.Errorf("%q is selected, in row %d", v.selected, v.at)
	}
	s.press("down", "down")
	before := s.model.views[paneNames].selected
	s.answer(func(found *sample) { found.locks[3].Waiters = make([]*schema.Wait, 9); fill(found.locks[3].Waiters) })
	if v := s.model.views[paneNames]; before != "default/counter" || v.selected != before || v.at != 3 {
		t.Errorf("%q is selected, in row %d; before it was %q", v.selected, v.at, before)
	}
	s.press("s")
	if v := s.model.views[paneNames]; v.at != 0 {
		t.Errorf("row %d is selected after a change of the order", v.at)
	}
	s.press("r", "r", "s", "s", "s", "end", "enter")
	if s.model.lock != (lockKey{"jobs", "spare"}) {
		t.Errorf("enter shows %v", s.model.lock)
	}
}

func fill(waiters []*schema.Wait) {
	for i := range waiters {
		waiters[i] = &schema.Wait{Since: ago(0), Position: int32(i)}
	}
}

// TestFilter: a prefix is asked of the member, and removed by esc.
func TestFilter(t *testing.T) {
	s := newScreen(t, 80, 24)
	s.answer(nil)
	s.press("/", "d", "q", "backspace")
	if q := s.model.filter; q != "d" {
		t.Errorf("the filter is %q", q)
	}
	if !strings.Contains(s.frame(), "/d ") || !strings.Contains(s.frame(), "enter keep the filter") {
		t.Errorf("the filter is not shown:\n%s", s.frame())
	}
	s.answer(func(found *sample) { found.question.prefix = ""; found.locks = nil }) // the answer to an earlier question
	s.press("enter")
	s.answer(func(found *sample) { found.locks = found.locks[:1] })
	if got := s.columnOf(0); got != "deploy" {
		t.Errorf("the names are %s", got)
	}
	if asked := s.questions[len(s.questions)-1]; asked.prefix != "d" {
		t.Errorf("asked %+v", asked)
	}
	s.press("esc")
	s.answer(nil)
	if asked := s.questions[len(s.questions)-1]; asked.prefix != "" || s.model.filter != "" {
		t.Errorf("asked %+v", asked)
	}
}

// TestLockInFull: enter asks for the lock alone, and esc for the names again. Enter on a space shows its names.
func TestLockInFull(t *testing.T) {
	s := newScreen(t, 120, 24)
	s.answer(nil)
	s.press("enter")
	if asked := s.questions[len(s.questions)-1]; asked.lock != (lockKey{"default", "deploy"}) {
		t.Errorf("asked %+v", asked)
	}
	s.answer(nil)
	for _, want := range []string{"held  exclusive  token 123832948333224994", "ann", "job-2", "Latest grants", "bob"} {
		if !strings.Contains(s.frame(), want) {
			t.Errorf("%q is not shown:\n%s", want, s.frame())
		}
	}
	s.press("esc")
	if asked := s.questions[len(s.questions)-1]; asked.lock != (lockKey{}) {
		t.Errorf("asked %+v", asked)
	}
	s.answer(nil)
	s.press("2", "down", "enter")
	if s.model.space != "jobs" || s.model.pane != paneNames {
		t.Errorf("space %q, pane %v", s.model.space, s.model.pane)
	}
}

// TestMemberLost: a member that does not answer leaves the last answer, with the time of its loss; the next answer
// takes that away.
func TestMemberLost(t *testing.T) {
	s := newScreen(t, 80, 24)
	s.answer(nil)
	s.send(sampleMsg{sample{err: errors.New("no member reachable at 127.0.0.1:4040: connection refused"), took: time.Second}, noon.Add(5 * time.Second)})
	s.send(sampleMsg{sample{err: errors.New("no member reachable at 127.0.0.1:4040: connection refused"), took: time.Second}, noon.Add(8 * time.Second)})
	frame := s.frame()
	if !strings.Contains(frame, "no answer since 12:00:04 (4s): no member reachable at 127.0.0.1:4040") || !strings.Contains(frame, "deploy") {
		t.Errorf("got:\n%s", frame)
	}
	s.answer(nil)
	if frame = s.frame(); strings.Contains(frame, "no answer") {
		t.Errorf("got:\n%s", frame)
	}
	// One that takes long is mentioned before its time is over.
	s.press("2", "enter")
	if !s.model.asking {
		t.Fatal("nothing is asked")
	}
	s.send(tickMsg(noon.Add(3 * time.Second)))
	if frame = s.frame(); !strings.Contains(frame, "no answer since 12:00:00 (3s)") {
		t.Errorf("got:\n%s", frame)
	}
}

// TestPause: a paused view asks nothing, and goes on.
func TestPause(t *testing.T) {
	s := newScreen(t, 80, 24)
	s.answer(nil)
	s.press("space")
	s.send(tickMsg(noon.Add(time.Minute)))
	if s.model.asking || !strings.Contains(s.frame(), "PAUSED") {
		t.Errorf("asking %v:\n%s", s.model.asking, s.frame())
	}
	s.press("space")
	s.send(tickMsg(noon.Add(2 * time.Minute)))
	if !s.model.asking {
		t.Error("it does not go on")
	}
}

// TestASlowMemberIsAskedLessOften: the pause after a refresh is four times as long as it.
func TestASlowMemberIsAskedLessOften(t *testing.T) {
	s := newScreen(t, 80, 24)
	s.answer(func(found *sample) { found.took = 3 * time.Second })
	s.send(tickMsg(noon.Add(11 * time.Second)))
	if s.model.asking {
		t.Error("asked after 11s")
	}
	s.send(tickMsg(noon.Add(12 * time.Second)))
	if !s.model.asking {
		t.Error("not asked after 12s")
	}
}

// TestColours: a missing member is red, also where it is selected; foreign text cannot control the terminal.
func TestColours(t *testing.T) {
	s := newScreen(t, 120, 24)
	s.answer(nil)
	s.press("1")
	line := ""
	for text := range strings.SplitSeq(s.model.frame(), "\n") {
		if strings.Contains(text, "10.0.0.3:4040") {
			line = text
		}
	}
	if !strings.Contains(line, "31") {
		t.Errorf("the line of the missing member: %q", line)
	}
	s.press("4")
	if frame := s.model.frame(); strings.Contains(frame, "\x1b[2J") {
		t.Error("a reason clears the screen")
	}
}

// TestCut: the view says that there are more names than it asks for.
func TestCut(t *testing.T) {
	s := newScreen(t, 80, 24)
	s.answer(func(found *sample) { found.cut = []string{"default"} })
	if !strings.Contains(s.frame(), "the first 1,000 names are shown; there are more in default") {
		t.Errorf("got:\n%s", s.frame())
	}
}

// TestFooterOfANarrowTerminal: help and quit stay, and what is left out has no rest.
func TestFooterOfANarrowTerminal(t *testing.T) {
	for width, want := range map[int]string{
		80: "tab pane  ↑↓ select  enter show  s sort  / filter  space pause  ? help  q quit",
		60: "tab pane  ↑↓ select  enter show  s sort  ? help  q quit",
		20: "? help  q quit",
	} {
		if got := ansi.Strip(Model{width: width}.footer()); got != want {
			t.Errorf("at %d columns: %q, want %q", width, got, want)
		}
	}
}
