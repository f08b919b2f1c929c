package recipe

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// EndWithParent makes the system send the signal end to a process when the thread that started it ends.
func EndWithParent(attributes *syscall.SysProcAttr, end syscall.Signal) { attributes.Pdeathsig = end }

// Family returns a process and its descendants. A process that has ended has none.
func Family(process int) ([]int, error) {
	family := []int{process}
	lists, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(process), "task/*/children"))
	if err != nil {
		return nil, fmt.Errorf("list the children of process %d: %w", process, err)
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it has ended meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("list the children of process %d: %w", process, err)
		}
		for field := range strings.FieldsSeq(string(text)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				return nil, fmt.Errorf("list the children of process %d: %w", process, err)
			}
			more, err := Family(child)
			if err != nil {
				return nil, err
			}
			family = append(family, more...)
		}
	}
	return family, nil
}
