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
func (e *Error) Error() string { return strconv.Quote(e.Path) + ": " + e.Reason() }

// Reason returns Error without the path, for a sentence that has it.
func (e *Error) Reason() string {
	return fmt.Sprintf("%s; run %s, or accept it with --insecure-files", e.Wrong, e.Fix)
}

// Advice returns the sentence for a fault that is accepted already.
func (e *Error) Advice() string {
	return fmt.Sprintf("%s: %s; run %s", strconv.Quote(e.Path), e.Wrong, e.Fix)
}

// CheckFile returns an *Error if other users can read or change the file at path.
func CheckFile(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	if wrong := OfFile(path, info); wrong != nil {
		return wrong
	}
	return nil
}

// OfFile is CheckFile for the file at path whose state is info; nil if all is well.
func OfFile(path string, info fs.FileInfo) *Error {
	if isExempt(info) {
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

// CheckRules returns an *Error if other users can change the file at path.
func CheckRules(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	if wrong := OfRules(path, info); wrong != nil {
		return wrong
	}
	return nil
}

// OfRules is CheckRules for the file at path whose state is info; nil if all is well.
func OfRules(path string, info fs.FileInfo) *Error {
	if isExempt(info) || rights(info)&written == 0 {
		return nil
	}
	return &Error{path, fmt.Sprintf("other users can change it: its mode is %04o", rights(info)), "chmod go-w " + strconv.Quote(path)}
}

// isExempt reports whether what is at a path is no file.
func isExempt(info fs.FileInfo) bool { return info.IsDir() || info.Mode()&fs.ModeDevice != 0 }

// CheckFolder returns an *Error if other users can write the folder at path.
func CheckFolder(path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() || rights(info)&written == 0 {
		return nil
	}
	return &Error{path, fmt.Sprintf("other users can change what is in it: its mode is %04o", rights(info)), "chmod go-w " + strconv.Quote(path)}
}
