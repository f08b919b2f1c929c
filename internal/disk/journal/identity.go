package journal

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// format is the first line of the identity. Any change of the format changes it.
const (
	formatName = "holdfast journal "
	format     = formatName + "1"
)

func identitySum(identity []byte) uint32 { return crc32.Checksum(identity, castagnoli) }

// encodeIdentity returns a text of three lines.
func encodeIdentity(identity []byte) []byte {
	text := format + "\n" + strconv.Quote(string(identity)) + "\n"
	return fmt.Appendf(nil, "%s%08x\n", text, crc32.Checksum([]byte(text), castagnoli))
}

// readIdentity returns the identity of the journal at a path.
func readIdentity(fs vfs.FS, folder, at string) ([]byte, error) {
	data, err := readFile(fs, fs.PathJoin(at, identityName))
	if err != nil {
		return nil, missingOr(err, folder, partIdentity)
	}
	first, rest, _ := strings.Cut(string(data), "\n")
	if strings.HasPrefix(first, formatName) && first != format {
		return nil, &FormatError{folder, first, format}
	}
	quoted, _, _ := strings.Cut(rest, "\n")
	identity, err := strconv.Unquote(quoted)
	if err == nil && string(encodeIdentity([]byte(identity))) == string(data) {
		return []byte(identity), nil
	}
	return nil, &CorruptError{folder, partIdentity, 0, 0, fmt.Errorf("the file has %.200q, which is not what a journal writes", data)}
}

// missingOr returns an error for a required file that is missing, or cannot be read.
func missingOr(err error, folder, part string) error {
	if errors.Is(err, os.ErrNotExist) {
		return &CorruptError{folder, part, 0, 0, errors.New("it is missing")}
	}
	return fmt.Errorf("read %s of folder %q: %w", part, folder, err)
}

// maxFile bounds the files that are read as a whole. The database's logs are the largest of them.
const maxFile = 256 << 20

func readFile(fs vfs.FS, name string) (data []byte, err error) {
	f, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	data, err = io.ReadAll(io.LimitReader(f, maxFile))
	return data, errors.Join(err, f.Close())
}
