// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"os"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/packages"
	"github.com/hcp-node-agent/hcp-node-agent/internal/packages/nodelayer"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// ManagesPackages reports whether the agent checks and installs packages on this
// host.
func (b *Builder) ManagesPackages() bool {
	return packages.RHEL(b.Facts.OS) > 0 && dnf.IsAvailable() && !slices.Contains(b.Config.Skip, steps.Packages)
}

// DecidePackages determines which packages the host lacks for the plan, nil before there is
// one. The version of the API server, zero if it is unknown, limits that of the packages.
func (b *Builder) DecidePackages(ctx context.Context, p *Plan, server kubelet.Version) (packages.Decision, error) {
	table, err := packages.ReadTable()
	if err != nil {
		return packages.Decision{}, err
	}
	facts := packages.Facts{
		OS: b.Facts.OS, Arch: b.Facts.Arch, Install: b.Config.InstallPackages || b.Upgrading, Commands: b.commands(p), BeforePayload: p == nil,
		Software: b.Software, Source: b.Config.Software, Replace: b.Upgrading,
	}
	if facts.Release, err = b.requestedRelease(); err != nil {
		return packages.Decision{}, err
	}
	if b.Software != nil {
		facts.Release = b.Software.Release
	}
	facts.ControlPlane = table.Newest(server.Minor())
	if facts, err = packages.Gather(ctx, b.DNF(), table, facts); err != nil {
		return packages.Decision{}, err
	}
	return packages.Decide(table, facts), nil
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
	table, err := packages.ReadTable()
	if err != nil {
		return nil, err
	}
	installed, err := on.Installed(ctx)
	return packages.LockChanges(table, installed), err
}

// requestedRelease returns the release that the administrator requests, zero for none.
func (b *Builder) requestedRelease() (packages.Release, error) {
	if b.Config.OpenShiftRelease == "" {
		return packages.Release{}, nil
	}
	release, err := packages.ParseRelease(b.Config.OpenShiftRelease)
	if err != nil {
		return release, inputs.UsageError("--openshift-release: %w", err)
	}
	return release, nil
}

// DNF returns the host's dnf, with the proxy of the user data if the environment
// names none. dnf's own configuration takes precedence over both.
func (b *Builder) DNF() dnf.Host {
	var named []string
	if userData := b.Inputs.UserData; userData != nil {
		named = dnf.ProxyVariables(userData.Proxy.HTTP, userData.Proxy.HTTPS, userData.Proxy.No)
	}
	if b.Inputs.UserData == nil && b.Payload != nil {
		proxy := b.payloadProxy()
		named = dnf.ProxyVariables(proxy.HTTP, proxy.HTTPS, proxy.No)
	}
	on := b.PackageHost
	on.Proxy = dnf.ExtraProxyVariables(os.LookupEnv, named)
	return on
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
	table, err := packages.ReadTable()
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

// imagePackages returns the packages that are unpacked from the OS image: those of the decision, or
// without one those that provide missing binaries, and those of an interrupted run.
func (b *Builder) imagePackages(decision *packages.Decision, missing []preflight.Program) ([]string, error) {
	names, err := b.missingImagePackages(decision, missing)
	if err != nil {
		return nil, err
	}
	interrupted, err := nodelayer.Interrupted(b.Ledger.Items())
	if err != nil {
		return nil, err
	}
	outdated, err := b.outdatedPackages()
	for _, name := range slices.Concat(interrupted, outdated) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, err
}

// outdatedPackages returns the packages of the OS image that replace unpacked packages of another
// version.
func (b *Builder) outdatedPackages() ([]string, error) {
	if !b.Upgrading || b.Software == nil {
		return nil, nil
	}
	table, err := packages.ReadTable()
	if err != nil {
		return nil, err
	}
	placed, err := nodelayer.PlacedPackages(b.Ledger.Items())
	var names []string
	for _, old := range placed {
		name := b.Software.Equivalent(table, old.Name)
		if name != "" && (name != old.Name || b.Software.Packages[name] != old.Version) {
			names = append(names, name)
		}
	}
	return names, err
}

func (b *Builder) missingImagePackages(decision *packages.Decision, missing []preflight.Program) ([]string, error) {
	if decision != nil {
		return decision.FromImage(), nil
	}
	if b.Config.Software == config.SoftwareRPM {
		return nil, nil
	}
	table, err := packages.ReadTable()
	if err != nil {
		return nil, err
	}
	var programs []string
	for _, program := range missing {
		programs = append(programs, program.Name)
	}
	return b.Software.Providers(table, programs), nil
}

// packageFindings returns the problems and warnings about packages for the preflight command.
func (b *Builder) packageFindings(ctx context.Context) []report.Finding {
	decision, err := b.DecidePackages(ctx, nil, kubelet.Version{})
	found := decision.Findings
	if err != nil {
		refused := report.RefusingFinding(err)
		refused.Code = report.Refused
		found = []report.Finding{refused}
	}
	found = slices.DeleteFunc(found, func(f report.Finding) bool { return f.Severity == report.SeverityNote })
	for i := range found {
		found[i].Check = "packages"
	}
	return found
}
