package follow

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// Regular returns why a file cannot be followed: a pipe has its contents once, and one without a writer never ends.
func Regular(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	return nil
}

// Read returns the contents of the file at path, of at most most bytes, and its stamp when it was opened, at the time
// now. It asks accept before it opens the file, and again before it reads; nil accepts all files. No error has the path:
// the sentence around it does.
func Read(path string, most int, accept func(fs.FileInfo) error, now time.Time) ([]byte, Stamp, error) {
	if accept != nil {
		info, err := os.Stat(path)
		if err == nil {
			err = accept(info)
		}
		if err != nil {
			return nil, without(err), Plain(err)
		}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, without(err), Plain(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, Stamp{}, Plain(err)
	}
	stamp := stampOf(info, now)
	if accept != nil {
		if err := accept(info); err != nil {
			return nil, stamp, err
		}
	}
	data, err := ReadAll(file, most)
	return data, stamp, Plain(err)
}

// ReadAll reads everything, of at most most bytes.
func ReadAll(from io.Reader, most int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, int64(most)+1))
	if err == nil && len(data) > most {
		return nil, fmt.Errorf("it has more than %d bytes", most)
	}
	return data, err
}

// Plain returns the system's reason, without the path that it has.
func Plain(err error) error {
	if system, is := errors.AsType[*fs.PathError](err); is {
		return system.Err
	}
	return err
}
