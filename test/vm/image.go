// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
)

// BuildImage runs test/image/build.sh of the repository and returns the directory for
// [Config.Image]. This takes minutes without a cache, and a second with one. The output of the
// build is written to log.
func BuildImage(ctx context.Context, repository string, log io.Writer) (string, error) {
	script := filepath.Join(repository, "test", "image", "build.sh")
	cmd := exec.CommandContext(ctx, script)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, log
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("building the machine's image with %s: %w", script, err)
	}
	return strings.TrimSpace(out.String()), nil
}
