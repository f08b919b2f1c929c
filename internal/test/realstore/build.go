package realstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/holdfast-locks/holdfast/internal/test/realstore/recipe"
)

// module is the folder of the etcd server's module, in the repository.
const module = "tools/etcd"

// findEtcd returns the program of an etcd server: that of the module or, if that is not built yet and not required, the
// one on PATH.
func findEtcd(ctx context.Context) (string, error) {
	source, err := findModule()
	if err != nil {
		return "", err
	}
	program, err := builtEtcd(source)
	if err != nil {
		return "", err
	}
	switch _, err := os.Stat(program); {
	case err == nil:
		return program, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("look for the etcd server: %w", err)
	case os.Getenv(required) != "":
		return program, buildEtcd(ctx, source, program)
	}
	return recipe.Etcd().Find()
}

// findModule looks for the module in the folders above that of the test.
func findModule() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("look for %s: %w", module, err)
	}
	for {
		source := filepath.Join(folder, module)
		_, err := os.Stat(filepath.Join(source, "go.mod"))
		if err == nil {
			return source, nil
		}
		above := filepath.Dir(folder)
		if above == folder {
			return "", fmt.Errorf("look for %s above the working folder: %w", module, err)
		}
		folder = above
	}
}

// builtEtcd is the path of the server built from the present source.
func builtEtcd(source string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's folder for caches: %w", err)
	}
	sum := sha256.New()
	for _, name := range []string{"main.go", "go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			return "", fmt.Errorf("read what the etcd server is made of: %w", err)
		}
		fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text)
	}
	return filepath.Join(cache, "holdfast", "etcd-"+hex.EncodeToString(sum.Sum(nil)[:8])), nil
}

// buildEtcd builds the server, which takes a minute if nothing was ever compiled. Of several processes that want it one
// builds it, and the others wait.
func buildEtcd(ctx context.Context, source, program string) error {
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		return fmt.Errorf("build the etcd server: %w", err)
	}
	lock, err := os.OpenFile(program+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return fmt.Errorf("build the etcd server: %w", err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("build the etcd server: %w", err)
	}
	if _, err := os.Stat(program); err == nil {
		return nil // another process has built it meanwhile
	}
	unfinished := program + ".new"
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", unfinished, ".")
	build.Dir = source
	build.Env = append(os.Environ(), "GOWORK=off")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the etcd server in %s: %w: %s", source, err, text)
	}
	if err := os.Rename(unfinished, program); err != nil {
		return fmt.Errorf("build the etcd server: %w", err)
	}
	return nil
}
