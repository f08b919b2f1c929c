package lock

// What conversations ask of a table in addition to its exported methods.
var (
	CheckTable = checkTable
	Shape      = shape
)

// Limits are those of a table.
func (t *Table) Limits() Config { return t.limits }
