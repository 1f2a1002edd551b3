// SPDX-License-Identifier: Apache-2.0

package nodepool

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// WriteFile writes a secret to a file that only its owner can read, completely or not at all. It fails if the file
// exists with another content, unless overwrite is set, and if anything but a regular file exists.
func WriteFile(path string, content []byte, overwrite bool) error {
	if err := CheckReplaceable(path); err != nil {
		return err
	}
	existing, err := os.ReadFile(path)
	switch {
	case err == nil && !overwrite && !bytes.Equal(existing, content):
		return report.Fail(report.Usage, "# replace it with --overwrite, or write another file with --output-file",
			"%s exists with another content", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("reading the existing file: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".user-data-*") // with mode 0600
	if err != nil {
		return fmt.Errorf("creating the file: %w", err)
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close(), CheckReplaceable(path)); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(file.Name()))
	}
	return wrap.Errorf(err, "writing %s", path)
}

// CheckReplaceable fails if something other than a regular file exists at the path. A rename would replace a device,
// such as /dev/stdout, or a link.
func CheckReplaceable(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("checking the existing file: %w", err)
	case !info.Mode().IsRegular():
		return report.Fail(report.Usage, "# name a regular file or a new one; --output-file - prints",
			"%s exists and is not a regular file; it is not replaced", path)
	}
	return nil
}
