package sparing

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

func TestNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log
		want := func(sentence string, news bool, held int) {
			t.Helper()
			if n, h := l.News(sentence); n != news || h != held {
				t.Errorf("%q: %v, held back %d times; want %v, %d", sentence, n, h, news, held)
			}
		}
		want("a", true, 0)
		want("a", false, 0)
		want("b", true, 0)
		time.Sleep(newsAfter - 1) //nolint:forbidigo // inside a synctest bubble
		want("a", false, 0)
		time.Sleep(time.Nanosecond) //nolint:forbidigo // inside a synctest bubble
		want("a", true, 2)
		for i := range 10 * sayAtMost {
			want(strconv.Itoa(i), true, 0)
		}
		if n := len(l.said); n > sayAtMost {
			t.Errorf("%d sentences are remembered", n)
		}
	})
}
