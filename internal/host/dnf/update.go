// SPDX-License-Identifier: Apache-2.0

package dnf

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// Updates returns the packages that dnf update would install: new versions of installed packages and
// their new dependencies. The locks of versionlock apply, and excluded packages are not updated. It may
// download metadata of repositories, and does not change the host.
func (h Host) Updates(ctx context.Context, exclude ...string) ([]Package, error) {
	out, stderr, err := h.update(ctx, func(string) {}, exclude, "--assumeno")
	// dnf fails because it requires a confirmation.
	if err != nil && (ctx.Err() != nil || !strings.Contains(stderr, "Operation aborted")) {
		return nil, wrap.Errorf(explain(err, stderr, out), "querying the repositories for updates")
	}
	return parseUpdates(out), nil
}

// DownloadUpdates downloads the packages that Update installs to dnf's cache. It calls logLine for each
// line that dnf prints.
func (h Host) DownloadUpdates(ctx context.Context, logLine func(line string), exclude ...string) error {
	out, stderr, err := h.update(ctx, logLine, exclude, "--assumeyes", "--downloadonly")
	return wrap.Errorf(explain(err, stderr, out), "downloading updates")
}

// Update runs dnf update with the packages that DownloadUpdates has downloaded, without the network. If
// the cache lacks some, because dnf-makecache.timer has downloaded newer metadata since, dnf downloads
// them. comment is stored in dnf's history. When ctx ends, dnf is interrupted; it finishes a running
// transaction. The packages are durable when Update returns.
func (h Host) Update(ctx context.Context, comment string, logLine func(line string), exclude ...string) error {
	args := []string{"--assumeyes", "--comment", comment}
	out, stderr, err := h.update(ctx, logLine, exclude, append(args, "--cacheonly")...)
	if err != nil && ctx.Err() == nil && hasAny(stderr, "packages have invalid cache", "Cache-only enabled but no cache",
		"cacheonly option is activated") {
		out, stderr, err = h.update(ctx, logLine, exclude, args...)
	}
	return errors.Join(wrap.Errorf(explain(err, stderr, out), "updating packages"), h.sync())
}

func (h Host) update(
	ctx context.Context, logLine func(string), exclude []string, args ...string,
) (stdout, stderr string, err error) {
	for _, name := range exclude {
		args = append(args, "--exclude="+name)
	}
	return h.runWithLocks(ctx, logLine, append([]string{"update"}, args...)...)
}

// updatesHeader matches the first line of the table of a transaction. That of dnf5 begins without a space.
var updatesHeader = regexp.MustCompile(`(?m)^ ?Package +Arch`)

// parseUpdates parses dnf's table of a transaction: sections such as "Upgrading:", and below each a row
// " NAME ARCH [EPOCH:]VERSION-RELEASE REPOSITORY SIZE" per package. A row that is too long continues on
// lines with more spaces before the text. Packages that are removed or skipped are not in the result.
func parseUpdates(out string) []Package {
	header := updatesHeader.FindStringIndex(out)
	if header == nil {
		return nil
	}
	table, _, _ := strings.Cut(out[header[1]:], "\nTransaction Summary")
	var list []Package
	var row []string
	isInstalled := false
	for line := range strings.Lines(table) {
		switch words := strings.Fields(line); {
		case strings.HasPrefix(line, "  "):
			if len(row) > 0 { // else it describes the package, such as "replacing"
				row = append(row, words...)
			}
		case strings.HasPrefix(line, " "):
			row = words
		case strings.HasSuffix(line, ":\n"):
			isInstalled = hasAny(line, "Installing", "Upgrading", "Downgrading")
		}
		if len(row) < 4 {
			continue
		}
		if p, ok := parseNEVRA(row[0] + "-" + row[2] + "." + row[1]); ok && isInstalled {
			p.Repository = row[3]
			list = append(list, p)
		}
		row = nil
	}
	return list
}
