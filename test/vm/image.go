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
	return buildImage(ctx, repository, log)
}

// Class is the kind of host that a machine with an OSTree deployment imitates.
type Class string

// The classes, by their os-release and by the origin of the first deployment.
const (
	// RHELBootc is a RHEL bootc host, whose first deployment is from an image.
	RHELBootc Class = "bootc"
	// RHCOS is a host installed from RHCOS's disk image, whose first deployment is from no image.
	RHCOS Class = "coreos"
)

// BuildOSTreeImage is like [BuildImage] for a machine that boots from an OSTree deployment.
func BuildOSTreeImage(ctx context.Context, repository string, class Class, log io.Writer) (string, error) {
	return buildImage(ctx, repository, log, string(class))
}

func buildImage(ctx context.Context, repository string, log io.Writer, args ...string) (string, error) {
	script := filepath.Join(repository, "test", "image", "build.sh")
	cmd := exec.CommandContext(ctx, script, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, log
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("building the machine's image with %s: %w", script, err)
	}
	return strings.TrimSpace(out.String()), nil
}
