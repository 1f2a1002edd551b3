package dnf

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// Install installs packages, by name or as name-version*, with what they need.
// Signatures are checked whatever the configuration of a repository says: in a
// command line, a value for all repositories wins over theirs. comment is kept
// in dnf's history. tell is given each line that dnf prints. When ctx ends, dnf
// is interrupted; it finishes a transaction that is running already.
//
// The error has dnf's own words in it (see Said).
func (h Host) Install(ctx context.Context, comment string, tell func(line string), specs ...string) error {
	args := []string{
		"--assumeyes", "--setopt=gpgcheck=1", "--setopt=*.gpgcheck=1", "--setopt=localpkg_gpgcheck=1",
		"--comment", comment, "install",
	}
	if tell == nil {
		tell = func(string) {}
	}
	out, said, err := h.run(ctx, tell, append(args, specs...)...)
	if err != nil {
		return fmt.Errorf("installing packages: %w", explain(err, said, out))
	}
	return nil
}

// Said is a dnf that failed, with what it said.
type Said struct {
	Words string // its last lines, one after the other
	Err   error
}

// Error is what dnf said, or how it ended where it said nothing.
func (s *Said) Error() string {
	if s.Words == "" {
		return s.Err.Error()
	}
	return "dnf: " + strings.ReplaceAll(s.Words, "\n", "; ")
}

// Unwrap gives how dnf ended.
func (s *Said) Unwrap() error { return s.Err }

// Unsigned tells whether dnf refused a package for its signature.
func (s *Said) Unsigned() bool {
	return hasAny(s.Words, "GPG check FAILED", "is not signed", "GPG Keys are configured as", "GPG key retrieval failed",
		"checking of packages via GPG keys", "Public key for", "retrieve GPG key")
}

// Unanswered tells whether a repository did not answer.
func (s *Said) Unanswered() bool {
	return hasAny(s.Words, "Failed to download metadata", "Cannot download", "Errors during downloading metadata")
}

// Unknown tells whether no enabled repository has a package.
func (s *Said) Unknown() bool {
	return hasAny(s.Words, "Unable to find a match", "No match for argument")
}

func hasAny(text string, parts ...string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// explain puts dnf's words to a failure. What its standard error has is the
// cause; where that is empty, what it printed.
func explain(err error, stderr, stdout string) error {
	var failed *host.CommandError
	if !errors.As(err, &failed) {
		return err // it did not run, or was told to stop
	}
	words := lastLines(stderr)
	if words == "" {
		words = lastLines(stdout)
	}
	short := *failed
	short.Stderr = words
	return &Said{Words: words, Err: &short}
}

// mostLines is how many of dnf's lines are shown.
const mostLines = 12

// lastLines gives the last lines that say something. dnf can end with the whole
// configuration of a repository, with its passwords: that is not shown.
func lastLines(text string) string {
	text, _, _ = strings.Cut(text, "\nProblem repository:")
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if over := len(lines) - mostLines; over > 0 {
		lines = lines[over:]
	}
	return strings.Join(lines, "\n")
}
