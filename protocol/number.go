package protocol

import "fmt"

// NumberBits is how much of the number of a request between members counts the requests of a
// tenure; above stands how often the lease had lapsed. So an incarnation never uses one again.
// Surveys are counted so in each life, and above stands how many lives there were before.
const NumberBits = 40

// FormatNumber renders such a number behind a letter: w7 is the seventh of a tenure without
// lapses, and w2.7 of one after two.
func FormatNumber(prefix string, number uint64) string {
	if lapses := number >> NumberBits; lapses > 0 {
		return fmt.Sprintf("%s%d.%d", prefix, lapses, number&(1<<NumberBits-1))
	}
	return fmt.Sprintf("%s%d", prefix, number)
}
