// SPDX-License-Identifier: Apache-2.0

package bed

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// built is the result of the first successful Build.
var built struct {
	sync.Mutex
	bin string
}

// Build builds the binaries of the control plane unless they are cached, and returns their
// directory. At the first call, the working directory must be inside the repository.
func Build(ctx context.Context) (bin string, err error) {
	built.Lock()
	defer built.Unlock()
	if built.bin == "" {
		built.bin, err = build(ctx)
	}
	return built.bin, err
}

func build(ctx context.Context) (bin string, err error) {
	script, err := findFile(filepath.Join("test", "controlplane", "build.sh"))
	if err != nil {
		return "", err
	}
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(ctx, script)
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("building the control plane: %w:\n%s", err, stderr.String())
	}
	return strings.TrimSpace(stdout.String()), nil
}

// findFile returns the path of a repository file, searched from the working directory upwards.
func findFile(name string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("finding %s: no parent of the working directory has it; run this inside the repository", name)
		}
		dir = parent
	}
}
