package parallel

// AtOnce is what Tests raises the flag to, and OfPrograms what Programs does.
const AtOnce, OfPrograms = atOnce, ofPrograms

// Raced says that the race detector watches.
const Raced = raced
