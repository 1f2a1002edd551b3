// SPDX-License-Identifier: Apache-2.0

package request

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const maxInputSize = 32 << 20 // 32 MiB; user data has about 2 kB, a payload about 500 kB

// ReadFile reads the file that a flag names, or standard input if name is "-". It fails if the
// input is empty or larger than maxInputSize.
func ReadFile(name string, stdin io.Reader, flag string) ([]byte, error) {
	source := stdin
	var content bytes.Buffer
	if name == "-" && stdin == nil {
		return nil, report.UsageError("%s: standard input is not supported; use a file", flag)
	}
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, report.UsageError("%s: %w", flag, err)
		}
		defer file.Close()
		source = file
		if info, err := file.Stat(); err == nil { // else the buffer grows as necessary
			content.Grow(int(min(info.Size(), maxInputSize)) + bytes.MinRead)
		}
	}
	if _, err := content.ReadFrom(io.LimitReader(source, maxInputSize+1)); err != nil {
		return nil, report.UsageError("%s: %w", flag, err)
	}
	if content.Len() > maxInputSize {
		return nil, report.UsageError("%s: %s is larger than %d MiB", flag, DescribeInput(name), maxInputSize>>20)
	}
	if content.Len() == 0 {
		return nil, report.UsageError("%s: %s is empty", flag, DescribeInput(name))
	}
	return content.Bytes(), nil
}

// DescribeInput returns the name of an input for messages.
func DescribeInput(name string) string {
	if name == "-" {
		return "standard input"
	}
	return fmt.Sprintf("%q", name)
}

// checkStandardInput fails if more than one input is to be read from standard
// input.
func checkStandardInput(c config.Join) error {
	names := slices.Concat([]string{c.UserData, c.ApproveWith, c.JoinToken}, c.IgnitionOverrides)
	isFile := func(name string) bool { return name != "-" }
	if readers := slices.DeleteFunc(names, isFile); len(readers) > 1 {
		return report.UsageError("only one of --user-data, --approve-with, --join-token and --ignition-override can read " +
			"standard input")
	}
	return nil
}
