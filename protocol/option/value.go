package option

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Switch is an option of two values.
type Switch struct {
	At    *bool
	Words [2]string // for false and for true; zero means "false" and "true"
	Only  bool      // the first of them is all that is allowed
}

func (s Switch) both() []string {
	if s.Words == [2]string{} {
		return []string{"false", "true"}
	}
	return s.Words[:]
}

func (s Switch) Set(text string, strict bool) *Reason {
	i := slices.Index(s.both(), text)
	if i < 0 || strict && s.Only && i > 0 {
		return &Reason{}
	}
	*s.At = i == 1
	return nil
}

func (s Switch) Text() string {
	if *s.At {
		return s.both()[1]
	}
	return s.both()[0]
}

// Number returns 1 if it is on.
func (s Switch) Number() int64 {
	if *s.At {
		return 1
	}
	return 0
}

func (s Switch) Allowed() []string { return s.Spellings() }

func (s Switch) Spellings() []string {
	if s.Only {
		return s.both()[:1]
	}
	return s.both()
}

// Word is a text that represents a number.
type Word struct {
	Text   string
	Number int64
}

// Words are those of an option.
type Words []Word

func (w Words) words() []string {
	texts := make([]string, len(w))
	for i, word := range w {
		texts[i] = word.Text
	}
	return texts
}

func (w Words) number(text string) (number int64, known bool) {
	for _, word := range w {
		if word.Text == text {
			return word.Number, true
		}
	}
	return 0, false
}

// text returns the word for a number, unless it is only another spelling of a number that has digits.
func (w Words) text(number int64) string {
	for _, word := range w {
		if word.Number == number && number <= 0 {
			return word.Text
		}
	}
	return ""
}

// Choice is an option whose values are words.
type Choice[T ~int64] struct {
	At    *T
	Words Words
}

func (c Choice[T]) Set(text string, _ bool) *Reason {
	number, known := c.Words.number(text)
	if !known {
		return &Reason{}
	}
	*c.At = T(number)
	return nil
}

func (c Choice[T]) Text() string {
	for _, word := range c.Words {
		if word.Number == int64(*c.At) {
			return word.Text
		}
	}
	if *c.At == 0 {
		return ""
	}
	return fmt.Sprint(int64(*c.At)) // which no word is
}

// Number returns the word's number.
func (c Choice[T]) Number() int64       { return int64(*c.At) }
func (c Choice[T]) Allowed() []string   { return c.Words.words() }
func (c Choice[T]) Spellings() []string { return c.Words.words() }

// Count is a whole number from Least to Most, or a word. Zero Least means 1.
type Count[T ~int | ~uint64] struct {
	At          *T
	Least, Most T
	Words       Words
}

func (c Count[T]) least() T { return cmp.Or(c.Least, 1) }

func (c Count[T]) Set(text string, strict bool) *Reason {
	if number, known := c.Words.number(text); known {
		*c.At = T(number)
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return &Reason{}
	case strict && n < int64(c.least()):
		return &Reason{"it is too small", fmt.Sprintf("give %d or more", c.least())}
	case strict && n > int64(c.Most):
		return &Reason{"it is too large", fmt.Sprintf("give %d or less", c.Most)}
	}
	*c.At = T(n)
	return nil
}

func (c Count[T]) Text() string {
	if text := c.Words.text(int64(*c.At)); text != "" || *c.At == 0 {
		return text
	}
	return fmt.Sprint(*c.At)
}

// Number is the number.
func (c Count[T]) Number() int64 { return int64(*c.At) }

func (c Count[T]) Allowed() []string {
	return append(c.Words.words(), fmt.Sprintf("%d to %d", c.least(), c.Most))
}

func (c Count[T]) Spellings() []string { return c.Words.words() }

// Duration is a length of time from Least to Most, or a word.
type Duration struct {
	At          *time.Duration
	Least, Most time.Duration
	Words       Words
}

func (d Duration) Set(text string, strict bool) *Reason {
	if number, known := d.Words.number(text); known {
		*d.At = time.Duration(number)
		return nil
	}
	length, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return &Reason{}
	case strict && length < d.Least:
		return &Reason{"it is too short", "give " + Format(d.Least) + " or more"}
	case strict && length > d.Most:
		return &Reason{"it is too long", "give " + Format(d.Most) + " or less"}
	}
	*d.At = length
	return nil
}

func (d Duration) Text() string {
	if text := d.Words.text(int64(*d.At)); text != "" || *d.At == 0 {
		return text
	}
	return Format(*d.At)
}

// Number is the length of time in nanoseconds.
func (d Duration) Number() int64 { return int64(*d.At) }

func (d Duration) Allowed() []string {
	return append(d.Words.words(), Format(d.Least)+" to "+Format(d.Most))
}

func (d Duration) Spellings() []string { return d.Words.words() }

// Format formats a duration: 1h for Go's 1h0m0s.
func Format(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Text is an option of 1 to Most bytes of UTF-8 without control characters.
type Text struct {
	At   *string
	Most int
}

func (t Text) Set(text string, strict bool) *Reason {
	switch {
	case text == "":
		return &Reason{"it is empty", "leave it out, or give a text"}
	case strict && len(text) > t.Most:
		return &Reason{"it is too long", "shorten it"}
	case !utf8.ValidString(text):
		return &Reason{"it is not UTF-8", "write it in UTF-8"}
	case strings.ContainsFunc(text, unicode.IsControl):
		return &Reason{"it has a control character", "remove that character"}
	}
	*t.At = text
	return nil
}

func (t Text) Text() string        { return *t.At }
func (t Text) Number() int64       { return 0 }
func (t Text) Allowed() []string   { return []string{fmt.Sprintf("1 to %d bytes", t.Most)} }
func (t Text) Spellings() []string { return nil }
