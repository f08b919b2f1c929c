package private

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
)

// Rights of group and others.
const (
	others     fs.FileMode = 0o077
	readByRoot fs.FileMode = 0o040 // what the group may do with a file of root
	written    fs.FileMode = 0o022
)

// Error is a file or a folder that other users can read or change.
type Error struct {
	Path  string
	Wrong string // what is wrong with it
	Fix   string // the command that mends it
}

// Error returns a sentence with the fault and the fix.
func (e *Error) Error() string { return e.Advice() + ", or accept it with --insecure-files" }

// Advice returns the sentence for a fault that is accepted already.
func (e *Error) Advice() string {
	return fmt.Sprintf("%s: %s; run %s", strconv.Quote(e.Path), e.Wrong, e.Fix)
}

// CheckFile returns an *Error if other users can read or change the file at path.
func CheckFile(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() || info.Mode()&fs.ModeDevice != 0 {
		return nil
	}
	allowed := fs.FileMode(0)
	if ofRoot(info) {
		allowed = readByRoot
	}
	mode := rights(info)
	if mode&others&^allowed == 0 {
		return nil
	}
	return &Error{path, fmt.Sprintf("other users can use it: its mode is %04o", mode), "chmod 600 " + strconv.Quote(path)}
}

// CheckFolder returns an *Error if other users can write the folder at path.
func CheckFolder(path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() || rights(info)&written == 0 {
		return nil
	}
	return &Error{path, fmt.Sprintf("other users can change what is in it: its mode is %04o", rights(info)), "chmod go-w " + strconv.Quote(path)}
}
