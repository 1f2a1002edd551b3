// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"context"
	"os"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software/osimage"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// ManagesPackages reports whether the agent checks and installs packages on this
// host. In image mode, it only checks the binaries.
func (s *Session) ManagesPackages() bool {
	return software.RHEL(s.Host.Facts.OS) > 0 && !s.Host.Facts.Capabilities().HasImage && dnf.IsAvailable() &&
		!slices.Contains(s.Run.Config.Skip, steps.Packages)
}

// DecideSoftware returns the outcome of each package that the plan requires; p is nil before there is a
// plan. The version of the API server, zero if it is unknown, limits that of the packages. DecideSoftware
// fails if the signature policy rejects the OS image from which packages are unpacked.
func (b *Builder) DecideSoftware(ctx context.Context, p *Plan, server kube.Version) (software.Decision, error) {
	facts := software.Facts{
		OS:            b.Host.Facts.OS,
		Arch:          b.Host.Facts.Arch,
		Managed:       b.ManagesPackages(),
		ImageMode:     b.Host.Facts.Capabilities().HasImage,
		Contents:      b.Software,
		Source:        b.Run.Config.Software,
		BeforePayload: p == nil,
		Versions:      software.Versions{Server: server},
		Install:       b.Run.Config.InstallPackages,
		Replace:       b.Upgrading,
		Commands:      b.commands(p),
	}
	if err := b.checkSoftwareSource(); err != nil {
		return software.Decision{}, err
	}
	if b.RunsPayloadImage() && (p == nil || p.Image != nil) {
		return software.Decision{}, nil // the software is that of another image, which the host boots first
	}
	var err error
	if facts.Requested, err = b.requestedRelease(); err != nil {
		return software.Decision{}, err
	}
	if b.Host.Ledger != nil {
		if facts.Unpacked, err = osimage.Placed(b.Host.Ledger.Items()); err != nil {
			return software.Decision{}, err
		}
	}
	if !facts.Managed {
		missing, err := b.MissingBinaries(p)
		if err != nil {
			return software.Decision{}, err
		}
		for _, program := range missing {
			facts.MissingPrograms = append(facts.MissingPrograms, program.Name)
		}
	}
	if facts, err = software.Gather(ctx, b.DNF(), facts); err != nil {
		return software.Decision{}, err
	}
	decision := software.Decide(facts)
	if len(decision.Unpack) > 0 && b.Payload != nil {
		err = b.checkImagePolicy()
	}
	return decision, err
}

// checkSoftwareSource refuses a source of software that a host in image mode does not have.
func (b *Builder) checkSoftwareSource() error {
	if !b.Host.Facts.Capabilities().HasImage ||
		(b.Run.Config.Software != config.SoftwareImage && !b.Run.Config.InstallPackages) {
		return nil
	}
	return report.Fail(report.Usage,
		"# remove --software, --install-packages and their settings; add the packages to the image of this host",
		"this host is in image mode: its software belongs to its image, and cannot be installed or unpacked")
}

// versionLocks returns the changes that lock the versions of the installed packages of the node, none
// if dnf's plugin versionlock is not installed.
func (b *Builder) versionLocks(ctx context.Context) ([]ledger.Change, error) {
	if b.otherHost != nil || !b.ManagesPackages() {
		return nil, nil
	}
	on := b.DNF()
	if file, err := on.VersionLockFile(); err != nil || file == "" {
		return nil, err
	}
	return software.LockChanges(ctx, on)
}

// requestedRelease returns the release that the administrator requests, zero for none.
func (b *Builder) requestedRelease() (software.Release, error) {
	if b.Run.Config.OpenShiftRelease == "" {
		return software.Release{}, nil
	}
	release, err := software.ParseRelease(b.Run.Config.OpenShiftRelease)
	if err != nil {
		return release, inputs.UsageError("--openshift-release: %w", err)
	}
	return release, nil
}

// DNF returns the host's dnf, with the proxy of the user data if the environment
// names none. dnf's own configuration takes precedence over both.
func (b *Builder) DNF() dnf.Host {
	on := b.PackageHost
	on.Proxy = b.ProxyVariables()
	return on
}

// ProxyVariables returns the variables, NAME=VALUE, that a program needs in addition to the environment to use the
// proxy: that of the environment, else of the user data, else of the payload.
func (b *Builder) ProxyVariables() []string {
	var named []string
	if userData := b.Run.Inputs.UserData; userData != nil {
		named = dnf.ProxyVariables(userData.Proxy.HTTP, userData.Proxy.HTTPS, userData.Proxy.No)
	}
	if b.Run.Inputs.UserData == nil && b.Payload != nil {
		proxy := b.payloadProxy()
		named = dnf.ProxyVariables(proxy.HTTP, proxy.HTTPS, proxy.No)
	}
	return dnf.ExtraProxyVariables(os.LookupEnv, named)
}

// commands returns the binaries that the payload runs on this host; the value is
// true for binaries that a unit runs. It returns nil before there is a plan.
func (b *Builder) commands(p *Plan) map[string]bool {
	if p == nil {
		return nil
	}
	commands := map[string]bool{}
	for _, c := range p.Commands {
		commands[c.Name] = commands[c.Name] || c.InUnit
	}
	if runtime := b.defaultRuntime(); runtime != "" {
		commands[runtime] = true // CRI-O does not start without it
	}
	return commands
}

// MissingBinaries returns the binaries that kubelet, CRI-O and the payload's units
// need and this host lacks.
func (b *Builder) MissingBinaries(p *Plan) ([]preflight.Program, error) {
	table, err := software.ReadTable()
	if err != nil {
		return nil, err
	}
	var run []preflight.Program
	commands := b.commands(p)
	for _, one := range table.Packages {
		if one.Program != "" && one.Program != "runc" && commands[one.Program] {
			run = append(run, preflight.Program{Name: one.Program, Package: one.Name})
		}
	}
	return preflight.MissingPrograms(b.defaultRuntime(), run), nil
}

// packageFindings returns the problems and warnings about packages for the preflight command.
func (b *Builder) packageFindings(ctx context.Context) []report.Finding {
	decision, err := b.DecideSoftware(ctx, nil, kube.Version{})
	found := slices.Concat(decision.Findings, decision.Mismatches)
	if err != nil {
		refused := report.RefusingFinding(err)
		refused.Code = report.Refused
		refused.Remedy = cmp.Or(refused.Remedy, "dnf makecache # connects to all enabled repositories, and prints which fail")
		found = []report.Finding{refused}
	}
	found = slices.DeleteFunc(found, func(f report.Finding) bool { return f.Severity == report.SeverityNote })
	for i := range found {
		found[i].Check = "packages"
	}
	return found
}
