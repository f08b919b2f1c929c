package protocol

import "fmt"

// NumberBits is the number of low bits of a request number between members that count the requests of a tenure; the
// bits above count how often the lease has lapsed. An incarnation therefore never reuses a number. Surveys are counted
// likewise in each life, and the bits above count the earlier lives.
const NumberBits = 40

// FormatNumber formats such a number after a prefix: w7 is the seventh of a tenure without lapses, and w2.7 of one
// after two.
func FormatNumber(prefix string, number uint64) string {
	if lapses := number >> NumberBits; lapses > 0 {
		return fmt.Sprintf("%s%d.%d", prefix, lapses, number&(1<<NumberBits-1))
	}
	return fmt.Sprintf("%s%d", prefix, number)
}
