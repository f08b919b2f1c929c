//go:build unix

package private_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/private"
)

// file makes a file with a mode.
func file(t *testing.T, mode fs.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m1-key.pem")
	if err := os.WriteFile(path, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// isRoot reports whether the files that this process makes belong to root.
func isRoot() bool { return os.Getuid() == 0 }

func TestCheckFile(t *testing.T) {
	for mode, good := range map[fs.FileMode]bool{
		0o600: true, 0o400: true, 0o700: true, 0o000: true,
		0o640: isRoot(), 0o440: isRoot(),
		0o644: false, 0o604: false, 0o660: false, 0o620: false, 0o602: false, 0o601: false, 0o610: false, 0o666: false,
	} {
		path := file(t, mode)
		checked(t, private.CheckFile(path), path, mode, good, "chmod 600")
	}
}

func TestCheckRules(t *testing.T) {
	for mode, good := range map[fs.FileMode]bool{
		0o600: true, 0o644: true, 0o444: true, 0o640: true, 0o755: true,
		0o664: false, 0o646: false, 0o620: false, 0o602: false, 0o666: false,
	} {
		path := file(t, mode)
		checked(t, private.CheckRules(path), path, mode, good, "chmod go-w")
	}
}

// TestFileOfAnother: the group may read the files of root alone.
func TestFileOfAnother(t *testing.T) {
	if !isRoot() {
		t.Skip("only root can give a file to another user")
	}
	for mode, good := range map[fs.FileMode]bool{0o600: true, 0o640: false, 0o440: false} {
		path := file(t, mode)
		if err := os.Chown(path, 1, 1); err != nil {
			t.Fatal(err)
		}
		checked(t, private.CheckFile(path), path, mode, good, "chmod 600")
	}
}

func TestCheckFolder(t *testing.T) {
	for mode, good := range map[fs.FileMode]bool{
		0o700: true, 0o750: true, 0o755: true, 0o711: true,
		0o775: false, 0o770: false, 0o777: false, 0o757: false, 0o777 | fs.ModeSticky: false, 0o775 | fs.ModeSetgid: false,
	} {
		path := t.TempDir()
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		checked(t, private.CheckFolder(path), path, mode, good, "chmod go-w")
	}
}

// checked compares a verdict.
func checked(t *testing.T, err error, path string, mode fs.FileMode, good bool, fix string) {
	t.Helper()
	var bad *private.Error
	switch {
	case good && err != nil:
		t.Errorf("mode %v is refused: %v", mode, err)
	case !good && !errors.As(err, &bad):
		t.Errorf("mode %v: %v, want an error", mode, err)
	case !good && (bad.Path != path || !strings.Contains(err.Error(), fix) || !strings.Contains(err.Error(), "--insecure-files")):
		t.Errorf("mode %v: the sentence is %q", mode, err)
	}
}

// TestLinks: what a link leads to counts.
func TestLinks(t *testing.T) {
	open, link := file(t, 0o644), filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(open, link); err != nil {
		t.Fatal(err)
	}
	if err := private.CheckFile(link); err == nil {
		t.Error("a link hides a file that all can read")
	}
}

// TestNothingToCheck: what is missing, a device, and a file in place of a folder are not this package's concern.
func TestNothingToCheck(t *testing.T) {
	absent := filepath.Join(t.TempDir(), "absent")
	for what, err := range map[string]error{
		"absent file":   private.CheckFile(absent),
		"absent rules":  private.CheckRules(absent),
		"absent folder": private.CheckFolder(absent),
		"device":        private.CheckFile(os.DevNull),
		"file":          private.CheckFolder(file(t, 0o666)),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}
