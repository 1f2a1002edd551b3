// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/fetch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/transport"
)

// A standalone cluster has no management cluster, no NodePool and no token. Its machine-config
// server serves the configuration of a pool to any client, in the Ignition spec that the Accept
// header names (machine-config-operator, pkg/server/api.go). Remedies for its failures use
// commands of that cluster.
const (
	machineConfigPath = "/config/"
	machineConfigPort = "22623"

	getWorkerUserData = "# the user data of the cluster's workers contains the server and its CA, but no token:\n" +
		"oc -n openshift-machine-api get secret worker-user-data -o jsonpath='{.data.userData}' | base64 -d >worker.ign\n" +
		"hcp-node-agent join --user-data worker.ign"
	getInternalEndpoint = "# the machine-config server of a standalone cluster is at " +
		"https://api-int.CLUSTER_DOMAIN:22623/config/worker; print its name:\n" +
		"oc get infrastructure cluster -o jsonpath='{.status.apiServerInternalURI}'"
	getConfigServers = "oc -n openshift-machine-config-operator get pods -l k8s-app=machine-config-server -o wide"
	getConfigPools   = "oc get machineconfigpools"
)

// isStandalone reports whether the user data refers to a machine-config server.
func (u *UserData) isStandalone() bool { return u.Source != nil && !u.IsHosted() }

// serverKind returns the kind of the server for messages.
func (u *UserData) serverKind() string {
	if u.isStandalone() {
		return "machine-config server"
	}
	return "ignition server"
}

// endpointRemedy returns the remedy that prints the server's endpoint.
func (u *UserData) endpointRemedy() report.Remedy {
	if u.isStandalone() {
		return getInternalEndpoint
	}
	return getEndpoint
}

// caRemedy returns the remedy that prints the server's CA.
func (u *UserData) caRemedy() report.Remedy {
	if u.isStandalone() {
		return "# specify the user data, which contains the CA, instead:\n" + getWorkerUserData
	}
	return "# specify the CA in PEM format from the management cluster:\n" + getCA
}

// configRemedy returns the remedy for a payload that cannot be read.
func (u *UserData) configRemedy() report.Remedy {
	if u.isStandalone() {
		return "# the payload is rendered from the MachineConfigs of the pool; correct the named object there:\n" +
			getConfigPools + "\noc get machineconfigs"
	}
	return payloadRemedy
}

// certificateRemedy returns the remedy for a server certificate that was not renewed.
func (u *UserData) certificateRemedy() report.Remedy {
	if u.isStandalone() {
		return "check its Secret:\noc -n openshift-machine-config-operator get secret machine-config-server-tls"
	}
	return "check the HostedCluster for the annotation hypershift.openshift.io/disable-pki-reconciliation; without it, " +
		"restart the proxy, which reads its certificate only when it starts: " +
		"oc -n NAMESPACE-HC rollout restart deployment/ignition-server-proxy"
}

// explainConfigStatus sets the text and remedy for an HTTP status of a machine-config server.
// The server itself returns 200, 400, 403, 404, 405 and 500.
func explainConfigStatus(userData *UserData, e *transport.Error) {
	switch status := e.Status; {
	case status == http.StatusUnauthorized, status == http.StatusNetworkAuthenticationRequired:
		e.Code, e.Temporary = report.CredentialRefused, false
		e.Message = fmt.Sprintf("the server requires a credential (HTTP %d), which a machine-config server never does%s: "+
			"the ignition server of a hosted cluster or a proxy responds", status, transport.SkewNote(e.Skew))
		e.Remedy = "# on a hosted cluster:\n" + UserDataRemedy() + "\n# on a standalone cluster:\n" + getWorkerUserData
	case status == http.StatusNotFound:
		e.Message = fmt.Sprintf("the server has no payload at %s (HTTP 404)", userData.Source.Path)
		e.Remedy = getInternalEndpoint
	case status == http.StatusBadRequest:
		e.Code = report.Refused
		e.Message = "the server supports no Ignition spec that this agent can read (HTTP 400 for the Accept header)"
		e.Remedy = "# the cluster is older than OpenShift 4.6; check its version:\noc get clusterversion"
	case status == http.StatusInternalServerError:
		e.Message = fmt.Sprintf("the server has no configuration for pool %s (HTTP 500): "+
			"the pool does not exist, or its configuration is not rendered yet", path.Base(userData.Source.Path))
		e.Remedy = "# check whether the pool exists and has a configuration:\n" + getConfigPools
	case e.Temporary:
		e.Message += ": the machine-config server is unreachable for the load balancer in front of it"
		e.Remedy = "# check whether the servers are running on the control plane nodes:\n" + getConfigServers
	default:
		e.Code = report.Refused
		e.Message += " instead of a configuration"
		e.Remedy = "# check the endpoint, and proxies or load balancers on the path to it:\n" + getInternalEndpoint
	}
}

// checkSpec returns an error for a config of Ignition spec 2, which was not requested.
func checkSpec(userData *UserData, raw []byte) *transport.Error {
	var config struct{ Ignition struct{ Version string } }
	err := json.Unmarshal(raw, &config)
	if !strings.HasPrefix(config.Ignition.Version, "2.") {
		return nil
	}
	return &transport.Error{
		Kind: fetch.Unusable, Code: report.Usage, Cause: err,
		Message: fmt.Sprintf("the server returns Ignition spec %s, although spec 3 was requested: "+
			"a proxy removes the Accept header, or the cluster is older than OpenShift 4.6", config.Ignition.Version),
		Remedy: report.Remedyf("# compare with the response on a machine in the network of the server:\n"+
			"curl -ksm 20 -H 'Accept: %s' %s | head -c 40\noc get clusterversion", fetch.Accept, userData.Source.Redacted()),
	}
}
