// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// A command in a remedy is for the same clusters as the run; one that selects another cluster is unchanged.
func TestRemediesSelectTheClusterOfTheRun(t *testing.T) {
	const file = " --kubeconfig '/tmp/a b' --context c"
	const own = " --namespace clusters --hosted-cluster hosted" + file
	const getHosted = "hcp-node-admin kubeconfig" + own + " >hosted.kubeconfig\n"
	direct := Clusters{Kubeconfig: "/tmp/a b", Context: "c"}
	management := Clusters{
		Kubeconfig: "/tmp/a b", Context: "c", Namespace: "clusters", HostedCluster: "hosted", IsManagement: true,
	}
	through, given := management, management
	through.isHosted = true
	given.HostedKubeconfig = "h"
	type remedies map[report.Remedy]report.Remedy
	for name, run := range map[string]struct {
		flags Clusters
		want  remedies
	}{
		"hosted cluster": {direct, remedies{
			"oc get nodepools -A # it":                    "oc" + file + " get nodepools -A # it",
			"oc get csr; oc adm uncordon a":               "oc" + file + " get csr; oc" + file + " adm uncordon a",
			"oc get nodes | grep -w a":                    "oc" + file + " get nodes | grep -w a",
			"hcp-node-admin nodes # lists":                "hcp-node-admin nodes" + file + " # lists",
			"# the note of:\noc get csr":                  "# the note of:\noc" + file + " get csr",
			"# with oc login":                             "# with oc login",
			"hcp-node-agent leave # on the host":          "hcp-node-agent leave # on the host",
			"oc --kubeconfig hosted.kubeconfig get nodes": "oc" + file + " get nodes",
			"oc --kubeconfig management.kubeconfig get a": "oc --kubeconfig management.kubeconfig get a",
			kube.AdminKubeconfigCommand:                   kube.AdminKubeconfigCommand,
			"":                                            "",
		}},
		"standard input": {Clusters{Kubeconfig: "-"}, remedies{"oc get csr": "oc get csr"}},
		"management cluster": {management, remedies{
			"oc get nodepools -A":                         "oc" + file + " get nodepools -A",
			"oc --kubeconfig management.kubeconfig get a": "oc" + file + " get a",
			"oc --kubeconfig hosted.kubeconfig get nodes": getHosted + "oc --kubeconfig hosted.kubeconfig get nodes",
			"hcp-node-admin nodes":                        "hcp-node-admin nodes" + own,
		}},
		"hosted cluster of the management cluster": {through, remedies{
			"oc get csr; oc adm uncordon a": getHosted +
				"oc --kubeconfig hosted.kubeconfig get csr; oc --kubeconfig hosted.kubeconfig adm uncordon a",
			"oc --kubeconfig management.kubeconfig get a": "oc" + file + " get a",
			"hcp-node-admin describe a # it":              "hcp-node-admin describe a" + own + " # it",
			"# note\n" + kube.AdminKubeconfigCommand:      "# note\n" + report.Remedy(getHosted[:len(getHosted)-1]),
		}},
		"kubeconfig of the hosted cluster": {given, remedies{
			"oc --kubeconfig hosted.kubeconfig get nodes": "oc --kubeconfig h get nodes",
			"hcp-node-admin nodes":                        "hcp-node-admin nodes --kubeconfig h",
			"hcp-node-admin controller uninstall a": "hcp-node-admin controller uninstall a --namespace clusters" + file +
				" --hosted-kubeconfig h",
		}},
	} {
		for remedy, want := range run.want {
			got := run.flags.Remedy(remedy)
			if again := run.flags.Remedy(got); got != want || again != want {
				t.Errorf("%s: %q becomes %q and then %q, want %q", name, remedy, got, again, want)
			}
		}
	}
}
