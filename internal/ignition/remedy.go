// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"fmt"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Commands that print the parts of the user data on the management cluster. NAMESPACE-HC is the
// namespace of the hosted control plane: namespace and name of its HostedCluster, as in the quick start.
const (
	getEndpoint = "oc -n NAMESPACE get hostedcluster HC -o jsonpath='{.status.ignitionEndpoint}'"
	getToken    = "# get the token from the management cluster and save it to a file:\n" +
		"oc -n NAMESPACE-HC get secret token-NODEPOOL-HASH -o jsonpath='{.data.token}' >ignition.token"
	getCA = `oc -n NAMESPACE-HC get secret ignition-server-ca-cert -o jsonpath='{.data.tls\.crt}' | base64 -d >ca.crt`
)

// UserDataRemedy returns the commands that get the user data of a NodePool. The administrator replaces its
// namespace and name.
func UserDataRemedy() report.Remedy {
	return report.Remedy("# get the user data on the management cluster (valid for 5 to 11 hours); " +
		"to list the NodePools: oc get nodepool -A\n" + placeholderPool().userDataCommands())
}

// UserDataRemedyFor returns the commands that get the user data of a NodePool and run a command of the agent with it.
func UserDataRemedyFor(command string) report.Remedy {
	return UserDataRemedy() + report.Remedyf("\n# on this host:\nhcp-node-agent %s --user-data user-data.ign", command)
}

// nodePool is the NodePool that commands of remedies refer to.
type nodePool struct{ namespace, name string }

func nodePoolOf(u *UserData) nodePool {
	namespace, name, _ := strings.Cut(u.NodePool(), "/")
	if !isObjectName(namespace) || !isObjectName(name) {
		return placeholderPool()
	}
	return nodePool{namespace, name}
}

func placeholderPool() nodePool { return nodePool{"NAMESPACE", "NODEPOOL"} }

// isObjectName reports whether text can be the name of a Kubernetes object, so that it is safe in a
// command that is pasted into a shell.
func isObjectName(text string) bool {
	other := func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-.", r) }
	return text != "" && text[0] != '-' && !strings.ContainsFunc(text, other)
}

// hostedClusterCommand returns the command that sets HC, the name of the HostedCluster as it is in the namespace of the
// hosted control plane.
func (p nodePool) hostedClusterCommand() string {
	return fmt.Sprintf("HC=$(oc -n %s get nodepool %s -o jsonpath='{.spec.clusterName}' | tr . -)", p.namespace, p.name)
}

// userDataCommands returns the commands that print user data with the current token.
func (p nodePool) userDataCommands() string {
	return "umask 077\n" + p.hostedClusterCommand() + fmt.Sprintf(`
HASH=$(oc -n %[1]s get nodepool %[2]s `+
		`-o jsonpath='{.metadata.annotations.hypershift\.openshift\.io/nodePoolCurrentConfigVersion}')
oc -n %[1]s-$HC get secret user-data-%[2]s-$HASH -o jsonpath='{.data.value}' | base64 -d >user-data.ign`,
		p.namespace, p.name)
}

// conditionsCommand returns the command that prints why a payload was not generated.
func (p nodePool) conditionsCommand() string {
	return fmt.Sprintf(`oc -n %s get nodepool %s `+
		`-o jsonpath='{range .status.conditions[*]}{.type}={.status} {.message}{"\n"}{end}'`, p.namespace, p.name)
}

// serverLogsCommands returns the commands that print the log of the ignition server.
func (p nodePool) serverLogsCommands() string {
	return p.hostedClusterCommand() + fmt.Sprintf("\noc -n %s-$HC logs deployment/ignition-server --tail=50", p.namespace)
}

// serverPodsCommands returns the commands that list the pods that serve the payload.
func (p nodePool) serverPodsCommands() string {
	return p.hostedClusterCommand() + fmt.Sprintf("\noc -n %s-$HC get pods | grep ignition-server", p.namespace)
}
