package packages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// missing adds findings for missing packages: packages that can be installed, unless join
// installs them, and packages that no repository provides.
func (d *decision) missing() {
	if !d.facts.Asked {
		d.unasked()
		return
	}
	var absent []Missing
	can := map[string][]Missing{}
	for _, m := range d.Missing {
		if m.Repository == "" {
			absent = append(absent, m)
			continue
		}
		can[m.Need] = append(can[m.Need], m)
	}
	if d.facts.Install {
		can = nil
	}
	if list := can["required"]; len(list) > 0 {
		d.find(report.SeverityProblem, "not-installed", d.install(slices.Concat(list, can["wanted"]))+"\n# or:\nhcp-node-agent join --install-packages",
			"packages that a node needs are not installed: %s", named(list))
	} else if list := can["wanted"]; len(list) > 0 {
		d.find(report.SeverityWarning, "not-installed", d.install(list), "packages that a node may need are not installed: %s", named(list))
	}
	for _, need := range []string{"required", "wanted"} {
		d.absent(slices.DeleteFunc(slices.Clone(absent), func(m Missing) bool { return m.Need != need || d.hidden(m.Name) }))
	}
	d.unchecked()
}

// unasked adds a warning for missing packages if no repository was queried. None of the
// packages is required, because the repositories would have been queried.
func (d *decision) unasked() {
	if len(d.Missing) == 0 {
		return
	}
	if d.facts.Silent != "" {
		d.find(report.SeverityWarning, "repositories-silent", "", "packages that a node may need are not looked for: %s", d.facts.Silent)
	}
	d.find(report.SeverityWarning, "not-installed", d.install(d.Missing), "packages that a node may need are not installed: %s", named(d.Missing))
}

// install returns the command that installs the missing packages.
func (d *decision) install(list []Missing) string {
	var specs []string
	for _, m := range list {
		if strings.Contains(m.Spec, "*") {
			m.Spec = "'" + m.Spec + "'"
		}
		specs = append(specs, m.Spec)
	}
	return "dnf install " + strings.Join(specs, " ")
}

// absent adds a finding for each of RHEL's repositories whose packages no enabled
// repository provides.
func (d *decision) absent(list []Missing) {
	byRepository := map[string][]Missing{}
	var order []string
	for _, m := range list {
		if byRepository[m.Package.Repository] == nil {
			order = append(order, m.Package.Repository)
		}
		byRepository[m.Package.Repository] = append(byRepository[m.Package.Repository], m)
	}
	for _, name := range order {
		group := byRepository[name]
		severity := report.SeverityProblem
		if group[0].Need != "required" {
			severity = report.SeverityWarning
		}
		var texts []string
		for _, m := range group {
			texts = append(texts, fmt.Sprintf("%s (%s)%s", m.Spec, m.For, d.instead(m)))
		}
		d.find(severity, "not-available", d.enable(name, group), "no enabled repository has %s", strings.Join(texts, ", "))
	}
}

// instead describes the versions that the repositories provide in place of the required
// version.
func (d *decision) instead(m Missing) string {
	all := d.others(m.Name)
	if len(all) == 0 {
		return ""
	}
	last := all[len(all)-1]
	what := last.Version
	switch el := builtFor(last); {
	case el != 0 && el != d.rhel:
		what += fmt.Sprintf(" built for RHEL %d", el)
	case !d.facts.fits(last):
		what += " for " + last.Arch
	}
	return fmt.Sprintf(", only %s in %s", what, last.Repository)
}

// enable returns the remedy that makes a repository with the missing packages available.
func (d *decision) enable(name string, group []Missing) string {
	id := d.table.id(name, d.rhel, d.facts.arch(), d.Release)
	known, enabled := d.facts.repository(id)
	again := d.install(group) + " # or: hcp-node-agent join --install-packages"
	switch {
	case enabled:
		return fmt.Sprintf("dnf clean expire-cache\n# %s is enabled and does not have it; what it has:\ndnf --disablerepo='*' --enablerepo=%s list available", id, id)
	case d.facts.Subscription == NoSubscription && known:
		return fmt.Sprintf("dnf config-manager --set-enabled %s\n%s", id, again)
	case d.facts.Subscription == NoSubscription:
		return fmt.Sprintf("# mirror %s (or what corresponds to it) and add it to /etc/yum.repos.d, under any name\n%s", id, again)
	case d.facts.Subscription == Unregistered:
		return fmt.Sprintf("subscription-manager register\nsubscription-manager repos --enable=%s # or add a mirror of it to /etc/yum.repos.d, under any name\n%s", id, again)
	case !known:
		return fmt.Sprintf("subscription-manager repos --enable=%s # this host's subscription does not show it: it has to be one for OpenShift\n%s", id, again)
	}
	return fmt.Sprintf("subscription-manager repos --enable=%s\n%s", id, again)
}

// unchecked adds a warning for repositories without signature checks that provide a missing
// package.
func (d *decision) unchecked() {
	var ids []string
	for _, m := range d.Missing {
		for _, r := range d.facts.Repositories {
			if r.ID == m.Repository && r.Unchecked && !slices.Contains(ids, r.ID) {
				ids = append(ids, r.ID)
			}
		}
	}
	if len(ids) > 0 {
		d.find(report.SeverityWarning, "gpgcheck", "rpm --import KEY # of whoever signed the packages, and gpgcheck=1 in its file in /etc/yum.repos.d",
			"%s is configured with gpgcheck=0; --install-packages checks its packages all the same, and refuses what is not signed by a key that rpm or the repository knows", strings.Join(ids, ", "))
	}
}
