// Package rows groups the entries that a driver reads in a scan (storage.Scanner) into rows. A driver whose database
// returns columns one by one, with their row's key, calls [Rows.Add] for each and [Rows.End] after the last one; the
// function of the scan then gets each row whole, and only rows whose keys begin with the prefix.
package rows
