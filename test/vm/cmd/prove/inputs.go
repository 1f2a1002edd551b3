// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// sources are the files and directories, beside Go packages, that can change the result of every test: the
// dependencies, what is installed in the machines, and how machines and control plane are built.
var sources = []string{
	"Makefile", "VERSION", "deploy", "examples", "go.mod", "go.sum", "packaging", "systemd", "test/controlplane",
	"test/deps.sh", "test/image", "test/oracle",
}

// programs are the packages that tests build or install, beside those that they import.
var programs = []string{"./cmd/...", "./test/vm/mortal", "./test/ostree/..."}

// docblocksPackage runs the commands of the documentation, which are then an input of the tests that import it.
const docblocksPackage = "test/docblocks"

// inputFiles returns the files of the repository that can change the result of the tests of a package, sorted.
func inputFiles(ctx context.Context, repository, directory string) ([]string, error) {
	packages, err := listPackages(ctx, repository, directory)
	if err != nil {
		return nil, err
	}
	files, err := output(ctx, repository, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	var inputs []string
	for _, file := range strings.Split(files, "\x00") {
		if packages.use(file) {
			inputs = append(inputs, file)
		}
	}
	slices.Sort(inputs)
	return slices.Compact(inputs), nil
}

// packageSet describes the packages of the repository that tests and programs are compiled of.
type packageSet struct {
	files map[string]bool // Go and embedded files
	tests map[string]bool // directories below test, whose other files the tests can read
	docs  bool            // the documentation is an input
}

// use reports whether a file can change the result of the tests.
func (s packageSet) use(file string) bool {
	switch {
	case s.files[file]:
		return true
	case strings.HasSuffix(file, "_test.go") || file == listFile || file == recordFile:
		return false
	case strings.HasPrefix(file, "docs/"):
		return s.docs
	case strings.HasSuffix(file, ".md"):
		return false
	case slices.ContainsFunc(sources, func(source string) bool { return file == source || isBelow(file, source) }):
		return true
	}
	directory, _, _ := strings.Cut(filepath.Dir(file), "/testdata")
	return !strings.HasSuffix(file, ".go") && s.tests[directory]
}

func isBelow(file, directory string) bool { return strings.HasPrefix(file, directory+"/") }

// listPackages returns the packages that the tests of a directory and the programs consist of.
func listPackages(ctx context.Context, repository, directory string) (packageSet, error) {
	set := packageSet{files: map[string]bool{}, tests: map[string]bool{}}
	for _, patterns := range [][]string{programs, {"-test", "./" + directory}} {
		arguments := append([]string{"list", "-deps", "-tags", "vm", "-json"}, patterns...)
		listed, err := output(ctx, repository, "go", arguments...)
		if err != nil {
			return packageSet{}, err
		}
		for decoder := json.NewDecoder(strings.NewReader(listed)); decoder.More(); {
			var p listedPackage
			if err := decoder.Decode(&p); err != nil {
				return packageSet{}, fmt.Errorf("decoding the list of packages: %w", err)
			}
			if err := set.add(repository, p); err != nil {
				return packageSet{}, err
			}
		}
	}
	return set, nil
}

// listedPackage has the fields of interest of the output of go list.
type listedPackage struct {
	Dir                                                            string
	Module                                                         *struct{ Main bool }
	GoFiles, CgoFiles, EmbedFiles, TestEmbedFiles, XTestEmbedFiles []string
}

// add adds a package, unless it is of another module: go.sum has the versions of those.
func (s *packageSet) add(repository string, p listedPackage) error {
	if p.Module == nil || !p.Module.Main {
		return nil
	}
	directory, err := filepath.Rel(repository, p.Dir)
	if err != nil {
		return err
	}
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.EmbedFiles, p.TestEmbedFiles, p.XTestEmbedFiles) {
		s.files[filepath.Join(directory, name)] = true
	}
	s.tests[directory] = s.tests[directory] || isBelow(directory, "test")
	s.docs = s.docs || directory == docblocksPackage
	return nil
}

// hashFiles returns the hash of the names, permissions and contents of files. A file that was deleted counts as absent.
func hashFiles(repository string, files []string) (string, error) {
	hash := sha256.New()
	for _, name := range files {
		path := filepath.Join(repository, name)
		info, err := os.Lstat(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		var content []byte
		if info.Mode()&os.ModeSymlink != 0 {
			target, readErr := os.Readlink(path)
			content, err = []byte(target), readErr
		} else {
			content, err = os.ReadFile(path)
		}
		if err != nil {
			return "", fmt.Errorf("reading an input of the tests: %w", err)
		}
		fmt.Fprintf(hash, "%s %s %d\n%s", name, info.Mode(), len(content), content)
	}
	return fmt.Sprintf("%x", hash.Sum(nil))[:12], nil
}

// output returns the standard output of a command.
func output(ctx context.Context, directory, name string, args ...string) (string, error) {
	var stderr strings.Builder
	command := exec.CommandContext(ctx, name, args...)
	command.Dir, command.Stderr = directory, &stderr
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("running %s: %w: %s", name, err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}
