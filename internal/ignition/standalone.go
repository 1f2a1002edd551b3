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

	getWorkerUserData = "# the stub of the cluster's workers names the server and its CA, and holds no token:\n" +
		"oc -n openshift-machine-api extract secret/worker-user-data --keys=userData --to=- > worker.ign\n" +
		"hcp-node-agent join --user-data worker.ign"
	getInternalEndpoint = "# a standalone cluster's machine-config server is at https://api-int.CLUSTER_DOMAIN:22623/config/worker; the name is that of:\n" +
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
		return "# give the stub, which carries the CA, instead:\n" + getWorkerUserData
	}
	return "# give the CA in PEM, from the management cluster:\n" + getCA
}

// configRemedy returns the remedy for a payload that cannot be read.
func (u *UserData) configRemedy() report.Remedy {
	if u.isStandalone() {
		return "# it is made from the MachineConfigs of the pool: look there for what is named\n" + getConfigPools + "\n  oc get machineconfigs"
	}
	return payloadRemedy
}

// certificateRemedy returns the remedy for a server certificate that was not renewed.
func (u *UserData) certificateRemedy() report.Remedy {
	if u.isStandalone() {
		return "look at its Secret\noc -n openshift-machine-config-operator get secret machine-config-server-tls"
	}
	return "look for the annotation hypershift.openshift.io/disable-pki-reconciliation on the HostedCluster"
}

// explainConfigStatus sets the text and remedy for an HTTP status of a machine-config server.
// The server itself returns 200, 400, 403, 404, 405 and 500.
func explainConfigStatus(userData *UserData, e *transport.Error) {
	switch status := e.Status; {
	case status == http.StatusUnauthorized, status == http.StatusNetworkAuthenticationRequired:
		e.Code, e.Temporary = report.CredentialRefused, false
		e.Message = fmt.Sprintf("it wants a credential (HTTP %d), which a machine-config server never does%s: the ignition server of a hosted cluster answers, or a proxy",
			status, transport.SkewNote(e.Skew))
		e.Remedy = "# for a hosted cluster:\n" + getUserData + "\n# for a standalone one:\n" + getWorkerUserData
	case status == http.StatusNotFound:
		e.Message, e.Remedy = fmt.Sprintf("it has nothing at %s (HTTP 404)", userData.Source.Path), getInternalEndpoint
	case status == http.StatusBadRequest:
		e.Code, e.Message = report.Refused, "it knows no Ignition spec that this agent can read (HTTP 400 to the Accept header)"
		e.Remedy = "# the cluster is older than OpenShift 4.6; see:\noc get clusterversion"
	case status == http.StatusInternalServerError:
		e.Message = fmt.Sprintf("it cannot give the configuration of pool %s (HTTP 500): the cluster has no such pool, or has not rendered its configuration yet",
			path.Base(userData.Source.Path))
		e.Remedy = "# see whether the pool is there and has a configuration:\n" + getConfigPools
	case e.Temporary:
		e.Message += ": what stands in front of the machine-config server does not reach it"
		e.Remedy = "# see whether the servers run, on the control plane nodes:\n" + getConfigServers
	default:
		e.Code = report.Refused
		e.Message += ", and not with a configuration"
		e.Remedy = "# check the endpoint, and what stands between this host and it:\n" + getInternalEndpoint
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
		Message: fmt.Sprintf("it answers in Ignition spec %s although spec 3 was asked for: something in between takes the Accept header away, or the cluster is older than OpenShift 4.6",
			config.Ignition.Version),
		Remedy: report.Remedyf("# compare, from a machine next to the server:\ncurl -ks -H 'Accept: %s' %s | head -c 40\noc get clusterversion",
			fetch.Accept, userData.Source.Redacted()),
	}
}

// unreachableServerRemedy returns the remedy for an unreachable machine-config server, which usually
// accepts connections from the cluster's own network only.
func unreachableServerRemedy(to string) report.Remedy {
	return report.Remedyf("# api-int and port %s are for the cluster's own network; open %s for this host on the internal load balancer and in firewalls "+
		"(a public api address has it seldom), or name a way there: --connect-to HOST:PORT", machineConfigPort, to)
}
