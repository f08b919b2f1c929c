package parallel

// AtOnce is the value of the flag that Tests sets, and OfPrograms that of Programs.
const AtOnce, OfPrograms = atOnce, ofPrograms

// Raced reports whether the race detector is on.
const Raced = raced
