package lock

// What conversations ask of a table besides what it exports.
var (
	CheckTable = checkTable
	Shape      = shape
)

// Limits are those of a table.
func (t *Table) Limits() Config { return t.limits }
