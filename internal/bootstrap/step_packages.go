package bootstrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/packages"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// ensurePackages checks the packages of a node and installs the missing ones if
// requested. On a host without rpm and dnf, or that is not RHEL-like, it does
// nothing, because the checks before it cover the required binaries.
func ensurePackages(ctx context.Context, j *operation, log report.Log) (outcome, error) {
	if !j.managesPackages() {
		all := preflight.RequiredPrograms()
		return unchanged("%d of %d programs of a node are installed", len(all), len(all))
	}
	if refused, err := j.checkPackageDecision(ctx); err != nil || refused != nil {
		return outcome{}, cmp.Or(err, refused)
	}
	logPackageFindings(*j.packageDecision, log)
	specs := j.packageDecision.Specs()
	if !j.config.InstallPackages || len(specs) == 0 {
		if err := j.recheckUplink(ctx); err != nil {
			return outcome{}, err
		}
		return unchanged("%d of %d packages of %s are present", j.packageDecision.Present, j.packageDecision.Needed, nodeOfRelease(j.packageDecision.Release))
	}
	if err := j.installPackages(ctx, log, specs); err != nil {
		return outcome{}, err
	}
	if err := j.afterInstall(ctx, log); err != nil {
		return outcome{}, err
	}
	return changed("dnf installed %s; %d of %d packages of %s are present",
		strings.Join(specs, " "), j.packageDecision.Present, j.packageDecision.Needed, nodeOfRelease(j.packageDecision.Release))
}

// managesPackages reports whether the agent checks and installs packages on this
// host.
func (j *operation) managesPackages() bool {
	return packages.RHEL(j.facts.OS) > 0 && dnf.IsAvailable() && !slices.Contains(j.config.Skip, "packages")
}

// checkPackageDecision determines, once in a run, which packages are missing. The
// first error is the reason why the host cannot be a node as it is, nil if there is
// none. The second error means that this could not be determined.
func (j *operation) checkPackageDecision(ctx context.Context) (refused, err error) {
	if !j.managesPackages() {
		return nil, nil
	}
	if j.packageDecision == nil {
		if err := j.gatherPackages(ctx); err != nil {
			return nil, err
		}
	}
	return j.packageDecision.Err(), nil
}

func (j *operation) gatherPackages(ctx context.Context) error {
	table, err := packages.ReadTable()
	if err != nil {
		return err
	}
	facts := packages.Facts{OS: j.facts.OS, Arch: j.facts.Arch, Install: j.config.InstallPackages, Commands: j.commands()}
	if j.config.OpenShiftRelease != "" {
		if facts.Release, err = packages.ParseRelease(j.config.OpenShiftRelease); err != nil {
			return usageError("--openshift-release: %w", err)
		}
	}
	facts.ControlPlane = table.Newest(j.serverVersion.Minor())
	if facts, err = packages.Gather(ctx, j.dnf(), table, facts); err != nil {
		return err
	}
	decision := packages.Decide(table, facts)
	j.packageDecision = &decision
	return nil
}

// dnf returns the host's dnf, with the proxy of the user data if the environment
// names none. dnf's own configuration takes precedence over both.
func (j *operation) dnf() dnf.Host {
	var named []string
	if stub := j.inputs.userData; stub != nil {
		named = dnf.ProxyVariables(stub.Proxy.HTTP, stub.Proxy.HTTPS, stub.Proxy.No)
	}
	on := j.packageHost
	on.Proxy = dnf.ExtraProxyVariables(os.LookupEnv, named)
	return on
}

// installPackages installs packages with dnf and records the transaction in the
// ledger.
func (j *operation) installPackages(ctx context.Context, log report.Log, specs []string) error {
	on := j.dnf()
	change, err := (&packages.Transactions{Host: on}).Change(ctx, specs)
	if err != nil {
		return err
	}
	done, err := j.ledger.TrackExternal(ctx, "packages", change)
	if err != nil {
		return err
	}
	if err := packages.Install(ctx, on, log, specs...); err != nil {
		if ctx.Err() == nil {
			err = errors.Join(err, done())
		}
		return err
	}
	return done()
}

// afterInstall verifies the installed packages, and reloads systemd and
// NetworkManager so that running services notice them.
func (j *operation) afterInstall(ctx context.Context, log report.Log) error {
	if err := j.gatherPackages(ctx); err != nil {
		return err
	}
	if err := j.packageDecision.Err(); err != nil {
		return err
	}
	if j.systemd != nil {
		if err := j.systemd.Reload(ctx); err != nil {
			return err
		}
	}
	if err := j.loadOVSPlugin(ctx, log); err != nil {
		return err
	}
	if err := j.adaptPayload(ctx); err != nil {
		return err
	}
	missing, err := j.missingBinaries()
	if err != nil {
		return err
	}
	err = preflight.Run(preflight.SoftwareChecks(), preflight.PayloadFacts{
		Host: j.facts, MissingUnits: j.plan.MissingUnits, MissingPrograms: missing,
	}).Err()
	return cmp.Or(err, j.recheckUplink(ctx))
}

// commands returns the binaries that the payload runs on this host; the value is
// true for binaries that a unit runs. It returns nil before the plan is made.
func (j *operation) commands() map[string]bool {
	if j.plan == nil {
		return nil
	}
	commands := map[string]bool{}
	for _, c := range j.plan.Commands {
		commands[c.Name] = commands[c.Name] || c.InUnit
	}
	if runtime := j.defaultRuntime(); runtime != "" {
		commands[runtime] = true // CRI-O does not start without it
	}
	return commands
}

// missingBinaries returns the binaries that kubelet, CRI-O and the payload's units
// need and this host lacks.
func (j *operation) missingBinaries() ([]preflight.Program, error) {
	table, err := packages.ReadTable()
	if err != nil {
		return nil, err
	}
	var run []preflight.Program
	commands := j.commands()
	for _, p := range table.Packages {
		if p.Program != "" && p.Program != "runc" && commands[p.Program] {
			run = append(run, preflight.Program{Name: p.Program, Package: p.Name})
		}
	}
	return preflight.MissingPrograms(j.defaultRuntime(), run), nil
}

// recheckUplink checks the uplink if preflight could not.
func (j *operation) recheckUplink(ctx context.Context) error {
	j.packagesPending = false
	if !j.uplinkUnchecked {
		return nil
	}
	return j.checkUplink(ctx)
}

// loadOVSPlugin restarts NetworkManager if its Open vSwitch plugin is not loaded.
// NetworkManager loads plugins only at startup. Addresses are kept during the
// restart.
func (j *operation) loadOVSPlugin(ctx context.Context, log report.Log) error {
	if j.nm == nil || j.systemd == nil {
		return nil
	}
	facts, err := ovs.Gather(ctx, j.nm)
	if err != nil || facts.NetworkManager.OVS {
		return err
	}
	log.Wait("for NetworkManager to start again, with its Open vSwitch plugin", "")
	if err := j.systemd.Restart(ctx, "NetworkManager.service"); err != nil {
		return err
	}
	// NetworkManager reports no uplink until it has taken over the connections again.
	_, err = command.Run(ctx, "nm-online", "--wait-for-startup", "--quiet", "--timeout", "60")
	return err
}

// lacksOpenVSwitch reports whether br-ex cannot be planned because a package is
// missing.
func (j *operation) lacksOpenVSwitch(ctx context.Context) bool {
	if !j.managesPackages() {
		return false
	}
	facts, err := ovs.Gather(ctx, j.nm)
	return err == nil && (!facts.OVS.Installed || !facts.NetworkManager.OVS)
}

func logPackageFindings(decision packages.Decision, log report.Log) {
	for _, f := range decision.Findings {
		switch f.Severity {
		case report.SeverityWarning:
			log.Warn(f.Text, f.Remedy)
		case report.SeverityNote:
			log.Note(f.Text)
		}
	}
}

// packageFindings returns the findings about packages for the preflight command.
func (j *operation) packageFindings(ctx context.Context) []preflight.Finding {
	if _, err := j.checkPackageDecision(ctx); err != nil {
		return []preflight.Finding{{Check: "packages", Severity: preflight.SeverityError, Message: err.Error(), Remedy: report.Remedy(report.RemedyOf(err))}}
	}
	if j.packageDecision == nil {
		return nil
	}
	var found []preflight.Finding
	for _, f := range j.packageDecision.Findings {
		severity := map[report.Severity]preflight.Severity{report.SeverityProblem: preflight.SeverityError, report.SeverityWarning: preflight.SeverityWarning}[f.Severity]
		if severity != "" {
			found = append(found, preflight.Finding{Check: "packages", Severity: severity, Message: f.Text, Remedy: report.Remedy(f.Remedy)})
		}
	}
	return found
}

func nodeOfRelease(release packages.Release) string {
	if release.IsZero() {
		return "a node"
	}
	return fmt.Sprintf("a node of OpenShift %s", release)
}
