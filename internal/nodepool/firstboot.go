// SPDX-License-Identifier: Apache-2.0

package nodepool

import (
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// A Format is the form in which a host gets the user data.
type Format string

// The formats. Ignition is the user data itself; the others also install the agent, whose service joins the host.
const (
	Ignition  Format = "ignition"
	CloudInit Format = "cloud-init"
	Kickstart Format = "kickstart"
)

// FileName returns the usual name of a file in the format.
func (f Format) FileName() string {
	return map[Format]string{Ignition: "user-data.ign", CloudInit: "user-data.yaml", Kickstart: "user-data.ks"}[f]
}

// Render returns the user data in the format. repository is the URL of the repository with the agent's packages, "" if
// the host has it already. The result is a secret.
func (f Format) Render(userData []byte, repository string) []byte {
	if f == Ignition {
		return userData
	}
	return f.render(string(userData), repository, strings.NewReplacer("NAME_OF_THE_HOST", "", "SECRET_OF_THE_HOST",
		"the NodePool's user data", "FILE_NAME", "user-data.ign", "END_OF_FILE", "USER_DATA"))
}

// RenderToken returns the join token of a node in the format, which is not Ignition. Its host needs no other input if
// the join token contains user data, or the cluster from which the host gets the user data. cloud-init also sets the
// name of the host, for which the join token is valid. The result is a secret.
func (f Format) RenderToken(token []byte, node, repository string) []byte {
	return f.render(string(token), repository, strings.NewReplacer("NAME_OF_THE_HOST",
		"hostname: "+node+"\nfqdn: "+node+"\n", "SECRET_OF_THE_HOST", "the join token of the host", "FILE_NAME",
		"node.token", "END_OF_FILE", "JOIN_TOKEN"))
}

// Missing returns findings about what a file in the format does not install, so that its host does not join without it.
// repository is that of the agent's packages, "" if the file has none.
func (f Format) Missing(repository string) []report.Finding {
	if f != CloudInit && f != Kickstart {
		return nil
	}
	var findings []report.Finding
	if repository == "" {
		effect := "cloud-init cannot install the package hcp-node-agent"
		if f == Kickstart {
			effect = "the installation fails at the package hcp-node-agent"
		}
		findings = append(findings, report.Finding{
			Severity: report.SeverityWarning, Check: "first-boot",
			Message: "the files contain no package repository: on a host whose image has neither the agent nor a " +
				"repository with it, " + effect + ", and the host does not join",
			Remedy: "# delete the files of the hosts, and run the same command with --repository-url URL",
		})
	}
	return append(findings, report.Finding{
		Severity: report.SeverityWarning, Check: "first-boot",
		Message: "the files register no subscription and do not install kubelet, CRI-O and Open vSwitch: the host does " +
			"not join unless its image contains them",
		Remedy: "# else add the subscription, the repositories and the setting installPackages to each file, as in " +
			"examples/cloud-init/install-packages.yaml",
	})
}

// render returns the template of the format with a secret.
func (f Format) render(secret, repository string, names *strings.Replacer) []byte {
	template, inInput, inSystem := kickstart, kickstartRepository, kickstartRepositoryFile
	content := strings.TrimRight(secret, "\n")
	if f == CloudInit {
		template, inInput = cloudInit, cloudInitRepository
		content = strings.ReplaceAll(content, "\n", "\n      ")
	}
	if repository == "" {
		inInput, inSystem = "", ""
	}
	template = strings.NewReplacer("REPOSITORY_FILE", inSystem, "REPOSITORY", inInput).Replace(names.Replace(template))
	return []byte(strings.NewReplacer("URL", strings.TrimRight(repository, "/"),
		"CONTENT-OF-THE-SECRET", content).Replace(template))
}

// The templates are those of examples/cloud-init/first-boot.yaml and examples/kickstart/post.ks.
const (
	cloudInit = `#cloud-config
# Installs the agent and writes SECRET_OF_THE_HOST. The service joins when
# cloud-init has finished. It retries until network, token and approvals are available,
# and resumes after a reboot. Progress: systemctl status hcp-node-agent
NAME_OF_THE_HOSTREPOSITORYwrite_files:
  - path: /etc/hcp-node-agent/FILE_NAME
    permissions: '0600'
    content: |
      CONTENT-OF-THE-SECRET
packages:
  - hcp-node-agent
runcmd:
  - [systemctl, start, --no-block, hcp-node-agent.service, hcp-node-agent.path]
`
	cloudInitRepository = `yum_repos:
  hcp-node-agent:
    name: hcp-node-agent
    baseurl: URL
    gpgkey: URL/RPM-GPG-KEY
    gpgcheck: true
    enabled: true
`
	kickstart = `# The part of a kickstart file that makes the installed machine a node at its first
# boot. The host cannot join during the installation, because systemd does not run yet and
# the network is that of the installer.REPOSITORY

%packages
hcp-node-agent
%end

%post --erroronfail
REPOSITORY_FILE# The package enables the service, which joins at boot with this file. Everyone who can
# read the kickstart file can read the token in it.
umask 077
cat >/etc/hcp-node-agent/FILE_NAME <<'END_OF_FILE'
CONTENT-OF-THE-SECRET
END_OF_FILE
%end
`
	kickstartRepository = ` The repo command applies to the installation only:
# the file that its option --install creates has no gpgkey, so dnf would refuse upgrades.
repo --name=hcp-node-agent --baseurl=URL`
	kickstartRepositoryFile = `cat >/etc/yum.repos.d/hcp-node-agent.repo <<'REPO'
[hcp-node-agent]
name=hcp-node-agent
baseurl=URL
gpgkey=URL/RPM-GPG-KEY
gpgcheck=1
REPO
`
)
