// SPDX-License-Identifier: Apache-2.0

// Package kubelets builds programs of Kubernetes versions that are newer than the one of the control plane and of the
// machine. Their modules are in testdata.
package kubelets

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Build returns the path of the kubelet of a version, such as v1.35. Without a cache, this takes minutes.
func Build(ctx context.Context, repository, version string) (string, error) {
	dir, err := build(ctx, repository, version)
	return filepath.Join(dir, "kubelet"), err
}

// BuildControlPlane returns the directory of a control plane with the servers of the newest version, for Bin of
// bed.Options. Without a cache, this takes many minutes.
func BuildControlPlane(ctx context.Context, repository string) (string, error) {
	return build(ctx, repository, "control-plane")
}

func build(ctx context.Context, repository, what string) (string, error) {
	var out bytes.Buffer
	command := exec.CommandContext(ctx, filepath.Join(repository, "test/vm/kubelets/build.sh"), what)
	command.Stdout, command.Stderr = &out, os.Stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("building Kubernetes (%s): %w", what, err)
	}
	return strings.TrimSpace(out.String()), nil
}
