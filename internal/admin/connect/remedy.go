// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"regexp"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

var (
	// ocCommand matches oc at the beginning of a command, with the cluster that it selects in remedies for both.
	ocCommand = regexp.MustCompile(`(^|; |&& |\| |\$\()oc (?:--kubeconfig (hosted|management)\.kubeconfig )?`)
	// selectsCluster matches commands that select a cluster themselves, and those of the plugin of oc.
	selectsCluster = regexp.MustCompile(` --(kubeconfig|context|hosted-cluster) |^oc hcp-node `)
	// managementCommand matches commands of the program that connect to the management cluster.
	managementCommand = regexp.MustCompile(`^hcp-node-admin (user-data|enroll|kubeconfig) `)
)

// Remedy returns a remedy whose commands connect to the clusters of this run. A command that selects another cluster is
// unchanged.
func (c *Clusters) Remedy(remedy report.Remedy) report.Remedy {
	changed := remedy.EditCommands(c.command)
	const file = "oc --kubeconfig " + kube.HostedKubeconfig + " "
	if c.IsManagement && strings.Contains(string(changed), file) &&
		!strings.Contains(string(remedy), ">"+kube.HostedKubeconfig) {
		changed = report.Remedy(kube.AdminKubeconfigCommand).EditCommands(c.command) + "\n" + changed
	}
	return changed
}

// command returns a command line that connects to the clusters of this run.
func (c *Clusters) command(line string) string {
	words := flagWords("namespace", c.Namespace, "hosted-cluster", c.HostedCluster) + c.ocWords()
	switch {
	case line == kube.AdminKubeconfigCommand && c.IsManagement:
		return "hcp-node-admin kubeconfig" + words + " >" + kube.HostedKubeconfig
	case strings.HasPrefix(line, "hcp-node-admin "):
		switch {
		case strings.HasPrefix(line, "hcp-node-admin controller "): // its argument is the HostedCluster
			words = flagWords("namespace", c.Namespace) + c.ocWords() + flagWords("hosted-kubeconfig", c.HostedKubeconfig)
		case c.HostedKubeconfig != "" && !managementCommand.MatchString(line):
			words = flagWords("kubeconfig", c.HostedKubeconfig)
		}
		if selectsCluster.MatchString(line) || strings.Contains(line, words) {
			return line
		}
		return line + words
	}
	selects := selectsCluster.MatchString(line)
	return ocCommand.ReplaceAllStringFunc(line, func(oc string) string {
		match := ocCommand.FindStringSubmatch(oc)
		before, place := match[1], match[2]
		isHosted := place == "hosted" || place == "" && (c.isHosted || !c.IsManagement)
		switch {
		case place == "" && selects, !isHosted && !c.IsManagement:
			return oc
		case isHosted && c.HostedKubeconfig != "":
			return before + "oc" + flagWords("kubeconfig", c.HostedKubeconfig) + " "
		case isHosted && c.IsManagement:
			return before + "oc --kubeconfig " + kube.HostedKubeconfig + " "
		}
		return before + "oc" + c.ocWords() + " "
	})
}

// ocWords returns the flags of this run that oc has, too, each after a space.
func (c *Clusters) ocWords() string {
	return flagWords("kubeconfig", c.Kubeconfig, "context", c.Context)
}

// flagWords returns flags, each after a space, of pairs of a name and a value. It skips those without a value, and
// standard input.
func flagWords(pairs ...string) string {
	words := ""
	for i := 0; i < len(pairs); i += 2 {
		if value := pairs[i+1]; value != "" && value != "-" {
			words += " --" + pairs[i] + " " + report.ShellWord(value)
		}
	}
	return words
}
