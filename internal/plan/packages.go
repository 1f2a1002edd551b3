package plan

import (
	"context"
	"os"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/packages"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/stepname"
)

// ManagesPackages reports whether the agent checks and installs packages on this
// host.
func (b *Builder) ManagesPackages() bool {
	return packages.RHEL(b.Facts.OS) > 0 && dnf.IsAvailable() && !slices.Contains(b.Config.Skip, stepname.Packages)
}

// CheckPackages determines, once in a run, which packages are missing. The
// first error is the reason why the host cannot be a node as it is, nil if there is
// none. The second error means that this could not be determined.
func (b *Builder) CheckPackages(ctx context.Context) (refused, err error) {
	if !b.ManagesPackages() {
		return nil, nil
	}
	if b.Packages == nil {
		if err := b.GatherPackages(ctx); err != nil {
			return nil, err
		}
	}
	return b.Packages.Err(), nil
}

// GatherPackages determines which packages the host lacks.
func (b *Builder) GatherPackages(ctx context.Context) error {
	table, err := packages.ReadTable()
	if err != nil {
		return err
	}
	facts := packages.Facts{OS: b.Facts.OS, Arch: b.Facts.Arch, Install: b.Config.InstallPackages, Commands: b.commands()}
	if b.Config.OpenShiftRelease != "" {
		if facts.Release, err = packages.ParseRelease(b.Config.OpenShiftRelease); err != nil {
			return inputs.UsageError("--openshift-release: %w", err)
		}
	}
	facts.ControlPlane = table.Newest(b.ServerVersion.Minor())
	if facts, err = packages.Gather(ctx, b.DNF(), table, facts); err != nil {
		return err
	}
	decision := packages.Decide(table, facts)
	b.Packages = &decision
	return nil
}

// DNF returns the host's dnf, with the proxy of the user data if the environment
// names none. dnf's own configuration takes precedence over both.
func (b *Builder) DNF() dnf.Host {
	var named []string
	if userData := b.Inputs.UserData; userData != nil {
		named = dnf.ProxyVariables(userData.Proxy.HTTP, userData.Proxy.HTTPS, userData.Proxy.No)
	}
	on := b.PackageHost
	on.Proxy = dnf.ExtraProxyVariables(os.LookupEnv, named)
	return on
}

// commands returns the binaries that the payload runs on this host; the value is
// true for binaries that a unit runs. It returns nil before the plan is made.
func (b *Builder) commands() map[string]bool {
	if b.Plan == nil {
		return nil
	}
	commands := map[string]bool{}
	for _, c := range b.Plan.Commands {
		commands[c.Name] = commands[c.Name] || c.InUnit
	}
	if runtime := b.defaultRuntime(); runtime != "" {
		commands[runtime] = true // CRI-O does not start without it
	}
	return commands
}

// MissingBinaries returns the binaries that kubelet, CRI-O and the payload's units
// need and this host lacks.
func (b *Builder) MissingBinaries() ([]preflight.Program, error) {
	table, err := packages.ReadTable()
	if err != nil {
		return nil, err
	}
	var run []preflight.Program
	commands := b.commands()
	for _, p := range table.Packages {
		if p.Program != "" && p.Program != "runc" && commands[p.Program] {
			run = append(run, preflight.Program{Name: p.Program, Package: p.Name})
		}
	}
	return preflight.MissingPrograms(b.defaultRuntime(), run), nil
}

// packageFindings returns the findings about packages for the preflight command.
func (b *Builder) packageFindings(ctx context.Context) []preflight.Finding {
	if _, err := b.CheckPackages(ctx); err != nil {
		return []preflight.Finding{{Check: "packages", Severity: preflight.SeverityError, Message: err.Error(), Remedy: report.Remedy(report.RemedyOf(err))}}
	}
	if b.Packages == nil {
		return nil
	}
	var found []preflight.Finding
	for _, f := range b.Packages.Findings {
		severity := map[report.Severity]preflight.Severity{report.SeverityProblem: preflight.SeverityError, report.SeverityWarning: preflight.SeverityWarning}[f.Severity]
		if severity != "" {
			found = append(found, preflight.Finding{Check: "packages", Severity: severity, Message: f.Text, Remedy: report.Remedy(f.Remedy)})
		}
	}
	return found
}
