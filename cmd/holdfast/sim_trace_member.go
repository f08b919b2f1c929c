package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/sim"
)

// simRecord runs one seed again, and records one member's input and output, if --trace-member names one.
func simRecord(c *cli.Command, config sim.Config, seed uint64) (err error) {
	member := c.String("trace-member")
	if member == "" {
		return nil
	}
	path := fmt.Sprintf("sim-%d-%s.txt", seed, member)
	var file *os.File
	var text *bufio.Writer
	config.MemberTrace = func(name string) io.Writer {
		if name != member || err != nil {
			return nil
		}
		if file == nil {
			if file, err = os.Create(path); err != nil {
				return nil
			}
			text = bufio.NewWriter(file)
		}
		return text
	}
	if _, wrong := sim.Run(config, seed, nil); wrong != nil || err != nil {
		return errors.Join(wrong, err)
	}
	if file == nil {
		return usageError(c.Name, "flag --trace-member: no %q starts in the run of seed %d; members are called a, b, c and so on", member, seed)
	}
	if err := errors.Join(text.Flush(), file.Close()); err != nil {
		return fmt.Errorf("write the trace: %w", err)
	}
	return nil
}
