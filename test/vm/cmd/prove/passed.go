// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// passedTests are the tests that have passed on this machine, as files of the cache of the test environment. A file
// is written after a test has passed, so that a failed or killed run leaves none.
type passedTests struct {
	directory   string
	environment string // hash of what can change a result on this machine, outside of the repository
}

// openPassed returns the passed tests of this machine.
func openPassed(ctx context.Context, repository string) (passedTests, error) {
	cache := os.Getenv("HCP_BED_CACHE")
	if cache == "" {
		return passedTests{}, errors.New("HCP_BED_CACHE is empty: call a target of the Makefile")
	}
	// The tools of the host and the packages in the images: their versions change without a change of the repository.
	hash := sha256.New()
	for _, command := range []string{
		"go env GOVERSION GOARCH GOFLAGS CGO_ENABLED", "dpkg-query --show", "qemu-system-x86_64 --version", "uname -r",
		"cat " + filepath.Join(cache, "machine", "*", "packages"),
		"cat " + filepath.Join(repository, "..", "shared", "payloads", "worker-4.20.ign") + " 2>/dev/null; true",
	} {
		out, err := output(ctx, repository, "sh", "-c", command)
		if err != nil {
			return passedTests{}, err
		}
		fmt.Fprintf(hash, "%s\n%s\n", command, out)
	}
	directory := filepath.Join(cache, "passed")
	if err := os.MkdirAll(directory, 0o750); err != nil {
		return passedTests{}, err
	}
	return passedTests{directory: directory, environment: fmt.Sprintf("%x", hash.Sum(nil))}, nil
}

func (c passedTests) path(test machineTest, inputs string) string {
	key := sha256.Sum256([]byte(strings.Join([]string{test.ID(), inputs, c.environment}, "\n")))
	return filepath.Join(c.directory, fmt.Sprintf("%x", key[:16]))
}

// find returns the passed run of a test with these inputs.
func (c passedTests) find(test machineTest, inputs string) (proof, bool, error) {
	content, err := os.ReadFile(c.path(test, inputs))
	if errors.Is(err, fs.ErrNotExist) {
		return proof{}, false, nil
	}
	if err != nil {
		return proof{}, false, err
	}
	p, err := parseProof(string(content))
	return p, err == nil, err
}

// add stores a passed run.
func (c passedTests) add(test machineTest, p proof) error {
	path := c.path(test, p.Inputs)
	if err := os.WriteFile(path+".part", []byte(p.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}
