// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// checkLibraries fails if a program below a directory requires a newer C library than the host has.
// Such a program exits at its start.
func checkLibraries(ctx context.Context, dir string, files []dnf.PackageFile) error {
	var required *version.Version
	var program string
	for _, file := range files {
		if file.Mode&unix.S_IFMT != unix.S_IFREG || file.Mode&0o111 == 0 {
			continue
		}
		needs, err := requiredGlibc(filepath.Join(dir, file.Path))
		if err != nil {
			return err
		}
		if needs != nil && (required == nil || required.LessThan(needs)) {
			required, program = needs, file.Path
		}
	}
	if required == nil {
		return nil
	}
	output, err := command.Run(ctx, "getconf", "GNU_LIBC_VERSION") // glibc 2.34
	if err != nil {
		return fmt.Errorf("reading the version of the C library: %w", err)
	}
	has, err := version.ParseGeneric(strings.TrimPrefix(strings.TrimSpace(output), "glibc "))
	if err != nil {
		return fmt.Errorf("reading the version of the C library: %w", err)
	}
	if has.LessThan(required) {
		return report.Fail(report.Refused, "# use a host with the RHEL release of the OS image: dnf update, or another host",
			"%s requires glibc %s, but this host has %s", program, required, has)
	}
	return nil
}

const glibcPrefix = "GLIBC_"

// requiredGlibc returns the newest version of the C library whose symbols a program imports. It is nil
// for scripts and static programs.
func requiredGlibc(name string) (*version.Version, error) {
	program, err := elf.Open(name)
	var format *elf.FormatError
	if errors.As(err, &format) || errors.Is(err, io.EOF) {
		return nil, nil //nolint:nilnil // a script
	}
	if err != nil {
		return nil, fmt.Errorf("reading program %s: %w", name, err)
	}
	defer program.Close()
	symbols, err := program.ImportedSymbols()
	if errors.Is(err, elf.ErrNoSymbols) {
		return nil, nil //nolint:nilnil // a static program
	}
	if err != nil {
		return nil, fmt.Errorf("reading the symbols of program %s: %w", name, err)
	}
	var newest *version.Version
	for _, symbol := range symbols {
		text, isGlibc := strings.CutPrefix(symbol.Version, glibcPrefix)
		parsed, err := version.ParseGeneric(text)
		if !isGlibc || err != nil { // GLIBC_PRIVATE
			continue
		}
		if newest == nil || newest.LessThan(parsed) {
			newest = parsed
		}
	}
	return newest, nil
}
