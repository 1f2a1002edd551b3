// SPDX-License-Identifier: Apache-2.0

package nodepool

import "strings"

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
	template, inInput, inSystem := kickstart, kickstartRepository, kickstartRepositoryFile
	content := strings.TrimRight(string(userData), "\n")
	if f == CloudInit {
		template, inInput = cloudInit, cloudInitRepository
		content = strings.ReplaceAll(content, "\n", "\n      ")
	}
	if repository == "" {
		inInput, inSystem = "", ""
	}
	template = strings.NewReplacer("REPOSITORY_FILE", inSystem, "REPOSITORY", inInput).Replace(template)
	return []byte(strings.NewReplacer("URL", strings.TrimRight(repository, "/"),
		"CONTENT-OF-THE-USER-DATA", content).Replace(template))
}

// The templates are those of examples/cloud-init/first-boot.yaml and examples/kickstart/post.ks.
const (
	cloudInit = `#cloud-config
# Installs the agent and writes the NodePool's user data. The service joins when
# cloud-init has finished. It retries until network, token and approvals are available,
# and resumes after a reboot. Progress: systemctl status hcp-node-agent
REPOSITORYwrite_files:
  - path: /etc/hcp-node-agent/user-data.ign
    permissions: '0600'
    content: |
      CONTENT-OF-THE-USER-DATA
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
cat >/etc/hcp-node-agent/user-data.ign <<'USER_DATA'
CONTENT-OF-THE-USER-DATA
USER_DATA
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
