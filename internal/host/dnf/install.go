// SPDX-License-Identifier: Apache-2.0

package dnf

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
)

// Install installs packages, by name or as name-version*, with their
// dependencies. Signatures are always checked, even in a repository with
// gpgcheck=0: a value for all repositories on the command line wins. comment is
// stored in dnf's history. Install calls logLine for each line that dnf prints.
// When ctx ends, dnf is interrupted; it finishes a running transaction.
//
// The packages are durable when Install returns, also after an error. The error contains dnf's own messages (see
// Error).
func (h Host) Install(ctx context.Context, comment string, logLine func(line string), specs ...string) error {
	err := h.install(ctx, logLine, append([]string{"--comment", comment, "install"}, specs...))
	return errors.Join(err, h.sync())
}

// Download downloads packages with their dependencies into the cache, from which Install with CacheOnly
// installs them. It checks their signatures, and tests the transaction: dependencies, file conflicts and
// free space. A repeated Download continues an interrupted one. The error is like that of Install.
func (h Host) Download(ctx context.Context, logLine func(line string), specs ...string) error {
	args := []string{"--setopt=keepcache=1", "--setopt=tsflags=test"}
	if !h.CacheOnly {
		args = append(args, "--refresh")
	}
	return h.install(ctx, logLine, append(append(args, "install"), specs...))
}

// install runs dnf for an installation with checks of all signatures.
func (h Host) install(ctx context.Context, logLine func(line string), operation []string) error {
	args := []string{"--assumeyes", "--setopt=gpgcheck=1", "--setopt=*.gpgcheck=1", "--setopt=localpkg_gpgcheck=1"}
	if logLine == nil {
		logLine = func(string) {}
	}
	h.ignoresLocks = IsDNF5()
	_, err := h.run(ctx, "installing packages", logLine, append(args, operation...)...)
	return err
}

// CopyCache copies dnf's own cache to Cache, so that its metadata are not downloaded again.
func (h Host) CopyCache(ctx context.Context) error {
	_, err := command.Run(ctx, "cp", "--archive", "--reflink=auto", "--no-target-directory",
		h.Root+defaultCache(), h.Cache)
	return err
}

// Error is a failure of dnf with its messages.
type Error struct {
	Messages string // its last lines, separated by newlines
	Err      error
}

// Error returns dnf's messages, or its exit status if there are none.
func (e *Error) Error() string {
	if e.Messages == "" {
		return e.Err.Error()
	}
	return "dnf: " + strings.ReplaceAll(e.Messages, "\n", "; ")
}

// Unwrap returns the error of the command.
func (e *Error) Unwrap() error { return e.Err }

// IsSignatureError reports whether dnf refused a package because of its signature.
func (e *Error) IsSignatureError() bool {
	return hasAny(e.Messages,
		"GPG check FAILED", "is not signed", "GPG Keys are configured as", "GPG key retrieval failed",
		"checking of packages via GPG keys", "Public key for", "retrieve GPG key", "OpenPGP check for package")
}

// IsRepositoryUnreachable reports whether a repository did not respond.
func (e *Error) IsRepositoryUnreachable() bool {
	return hasAny(e.Messages, "Failed to download metadata", "Cannot download", "Errors during downloading metadata")
}

// IsPackageNotFound reports whether no enabled repository has a package.
func (e *Error) IsPackageNotFound() bool {
	return hasAny(e.Messages, "Unable to find a match", "No match for argument")
}

func hasAny(text string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

// explain adds dnf's messages to an error: its standard error, or its standard
// output if that is empty.
func explain(err error, stderr, stdout string) error {
	var failed *command.Error
	if !errors.As(err, &failed) {
		return err // it did not run, or was canceled
	}
	short := *failed
	short.Stderr = cmp.Or(lastLines(stderr), lastLines(stdout))
	return &Error{Messages: short.Stderr, Err: &short}
}

// maxLines is the maximum number of dnf's lines in an error.
const maxLines = 12

// progress5 matches the lines about progress that dnf5 prints to standard error.
var progress5 = regexp.MustCompile(`^(Updating and loading repositories:|Repositories loaded\.|` +
	`Total size of inbound .*|After this operation, .*|Running transaction|-+|.* [0-9?]+% \|.*\|.*|` +
	`>>> Already downloaded)$`)

// lastLines returns the last lines that are neither empty nor about progress. dnf can end its output with
// the complete configuration of a repository, including passwords, which lastLines removes.
func lastLines(text string) string {
	text, _, _ = strings.Cut(text, "\nProblem repository:")
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !progress5.MatchString(line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-maxLines):], "\n")
}
