package lock

// Methods that conversations need in addition to the exported ones.
var (
	CheckTable = checkTable
	Shape      = shape
)

// Limits returns the limits of a table.
func (t *Table) Limits() Config { return t.limits }
