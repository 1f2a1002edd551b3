// SPDX-License-Identifier: Apache-2.0

// Package dnf queries and installs packages with rpm and dnf. It supports dnf
// 4, which RHEL 8, 9 and 10 have, and dnf5. It makes no decisions.
package dnf

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// Host runs rpm and dnf for a host. Its zero value is the running host.
type Host struct {
	Root      string   // the absolute path of the root directory; "" for the running host
	Release   string   // dnf's $releasever for a root without one, such as "9"
	Proxy     []string // http_proxy=URL and the like, for dnf only; may contain secrets
	Cache     string   // path of dnf's cache, not below Root; "": the one in dnf's configuration
	CacheOnly bool     // metadata and packages are read from the cache, whatever their age, and never downloaded

	ignoresLocks bool // the locks of dnf5 do not apply
}

// IsAvailable reports whether this host has rpm and dnf.
func IsAvailable() bool { return command.Exists("rpm") && command.Exists("dnf") }

// HasRPM reports whether this host has rpm, which lists the installed packages.
func HasRPM() bool { return command.Exists("rpm") }

// Package is an installed or available package.
type Package struct {
	Name       string `json:"name"`
	Version    string `json:"version"`
	Release    string `json:"release"` // of the package: 2.rhaos4.18.el9
	Arch       string `json:"arch"`
	Repository string `json:"repository,omitempty"` // "" for an installed package
}

// String returns name-version-release.arch.
func (p Package) String() string {
	return fmt.Sprintf("%s-%s-%s.%s", p.Name, p.Version, p.Release, p.Arch)
}

// Repository is a repository in dnf's configuration.
type Repository struct {
	ID                  string `json:"id"`
	Enabled             bool   `json:"enabled"`
	SignaturesUnchecked bool   `json:"unchecked,omitempty"` // configured with gpgcheck=0
}

// The queried fields of a package, in the formats of rpm and dnf.
const (
	// The last field is the time of installation in seconds, with ten digits.
	rpmFields = `%{NAME}|%{VERSION}|%{RELEASE}|%{ARCH}|%{INSTALLTIME}\n`
	// dnf 4 adds a newline, which leads to empty lines.
	dnfFields = `%{name}|%{version}|%{release}|%{arch}|%{repoid}\n`
	// An installed package has no repository.
	installedFields = `%{name}|%{version}|%{release}|%{arch}|\n`
)

// Installed returns the installed packages, or those whose names match a pattern such as kernel*-core. The
// package that was installed last is the first.
func (h Host) Installed(ctx context.Context, patterns ...string) ([]Package, error) {
	args := []string{"-qa", "--queryformat", rpmFields}
	if h.Root != "" {
		args = append([]string{"--root", h.Root}, args...)
	}
	out, err := command.Run(ctx, "rpm", append(args, patterns...)...)
	if err != nil {
		return nil, fmt.Errorf("listing the installed packages: %w", err)
	}
	list := packages(out)
	slices.SortStableFunc(list, func(a, b Package) int { return -strings.Compare(a.Repository, b.Repository) })
	for i := range list {
		list[i].Repository = ""
	}
	return list, nil
}

// Available returns all versions of the named packages in enabled repositories
// that modular filtering does not hide; if hidden is true, also the hidden
// ones. Unknown names are not an error. An unreachable repository is an error,
// unless its configuration allows skipping it.
func (h Host) Available(ctx context.Context, hidden bool, names ...string) ([]Package, error) {
	args := []string{"repoquery", "--available", "--queryformat", dnfFields}
	if hidden {
		args = append(args, "--disable-modular-filtering")
	}
	out, err := h.run(ctx, "querying the repositories for packages", nil, append(args, names...)...)
	return packages(out), err
}

// Repositories returns the configured repositories, including disabled ones. It
// does not use the network.
func (h Host) Repositories(ctx context.Context) ([]Repository, error) {
	out, err := h.run(ctx, "listing the repositories", nil, "--cacheonly", "repolist", "--all")
	if err != nil {
		return nil, err
	}
	list := repositories(out)
	checks, err := h.signatureChecks()
	if err != nil {
		return nil, err
	}
	for i := range list {
		checked, configured := checks[list[i].ID]
		list[i].SignaturesUnchecked = configured && !checked
	}
	return list, nil
}

// run runs dnf without prompts, and quietly if line is nil. The locks of dnf 4 do not apply,
// because the agent installs the locked versions. The error begins with the text in doing, and contains dnf's
// own messages.
func (h Host) run(ctx context.Context, doing string, line func(string), args ...string) (string, error) {
	locks, err := h.VersionLockFile()
	if err != nil {
		return "", wrap.Errorf(err, "%s", doing)
	}
	if locks != "" && !IsDNF5() { // otherwise dnf warns that there is no such plugin
		args = append([]string{"--disableplugin=" + versionLockPlugin}, args...)
	}
	out, stderr, err := h.runWithLocks(ctx, line, args...)
	return out, wrap.Errorf(explain(err, stderr, out), "%s", doing)
}

// runWithLocks runs dnf like run, and the locks of versionlock apply.
func (h Host) runWithLocks(ctx context.Context, line func(string), args ...string) (stdout, stderr string, err error) {
	if line == nil {
		args = append([]string{"--quiet"}, args...)
	}
	if h.CacheOnly {
		args = append([]string{"--cacheonly"}, args...)
	}
	if h.Cache != "" {
		args = append([]string{"--setopt=" + cacheOption() + "=" + h.Cache}, args...)
	}
	if h.Root != "" {
		args = append([]string{"--installroot", h.Root}, args...)
	}
	if h.Release != "" {
		args = append([]string{"--releasever", h.Release}, args...)
	}
	// Otherwise Python buffers its output.
	env := append([]string{"PYTHONUNBUFFERED=1"}, h.Proxy...)
	streaming := command.Streaming{Name: "dnf", Args: args, Env: env, OnLine: line, OnErrorLine: line}
	if IsDNF5() {
		// dnf5 exits at once after a signal, also between two packages of a transaction. This line precedes
		// the verification of the packages.
		streaming.LastInterrupt = "Running transaction"
	}
	if h.ignoresLocks {
		streaming.Name, streaming.Args = h.withoutLocks(args)
	}
	return streaming.Run(ctx)
}

// packages parses lines of fields; it ignores other lines, which plugins print.
func packages(out string) []Package {
	var list []Package
	for line := range strings.Lines(out) {
		if f := strings.Split(strings.TrimSpace(line), "|"); len(f) == 5 {
			list = append(list, Package{Name: f[0], Version: f[1], Release: f[2], Arch: f[3], Repository: f[4]})
		}
	}
	return list
}

// repositories parses dnf's table: the first word is the ID, the last one is
// the status.
func repositories(out string) []Repository {
	var list []Repository
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		switch words[len(words)-1] {
		case "enabled":
			list = append(list, Repository{ID: words[0], Enabled: true})
		case "disabled":
			list = append(list, Repository{ID: words[0]})
		}
	}
	return list
}
