// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"fmt"
	"os"
	"path/filepath"
)

// NewScratchTree creates a temporary directory with these files and opens it as a tree. Only the
// caller's user can read it. The function remove closes the tree and deletes the directory.
func NewScratchTree(files map[string]string) (tree *Tree, remove func(), err error) {
	return NewScratchTreeOf(func(string) map[string]string { return files })
}

// NewScratchTreeOf is NewScratchTree for files whose contents depend on the path of the directory.
func NewScratchTreeOf(files func(dir string) map[string]string) (tree *Tree, remove func(), err error) {
	dir, err := os.MkdirTemp("", "hcp-node-agent-")
	if err != nil {
		return nil, nil, fmt.Errorf("creating a temporary directory: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir) // the first error is reported
		}
	}()
	for name, content := range files(dir) {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return nil, nil, fmt.Errorf("creating a temporary directory: %w", err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			return nil, nil, fmt.Errorf("writing a temporary file: %w", err)
		}
	}
	if tree, err = OpenTree(dir); err != nil {
		return nil, nil, err
	}
	return tree, func() {
		tree.Close()
		_ = os.RemoveAll(dir) // a temporary directory
	}, nil
}
