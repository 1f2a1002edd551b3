// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package main

import (
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func (c *bothClusters) checkRefusals(t *testing.T) {
	c.uninstall(t)
	unreachable := c.kubeconfig(t, "", func(cluster *api.Cluster, _ *api.AuthInfo) {
		cluster.Server = "https://127.0.0.1:1"
	})
	management := c.kubeconfig(t, "", nil)
	c.addHostedCluster(t, "aws", "AWS")
	c.addHostedCluster(t, "new", "None")
	for name, test := range map[string]struct {
		args string
		code report.Code
		want string
	}{
		"no such HostedCluster": {"none --kubeconfig " + c.admin, report.Usage, "HostedCluster none does not exist in " +
			"namespace clusters, which has: aws, hosted-a, new\n# remedy: select the namespace with --namespace\n" +
			"oc --kubeconfig FILE get hostedclusters -A\n"},
		"platform": {"aws --kubeconfig " + c.admin, report.Refused, "HostedCluster clusters/aws: the platform is AWS: "},
		"no kubeconfig yet": {"new --kubeconfig " + c.admin, report.Refused, "HyperShift has not published the " +
			"kubeconfig of HostedCluster new yet\n"},
		"a management cluster as hosted cluster": {
			"hosted-a --kubeconfig " + c.admin + " --hosted-kubeconfig " + management,
			report.Refused, "https://ADDRESS is a management cluster, not the cluster of HostedCluster clusters/hosted-a\n" +
				"# remedy: pass the kubeconfig of the hosted cluster with --hosted-kubeconfig\n",
		},
		"no permission for the Secret": {
			"hosted-a --kubeconfig " + c.kubeconfig(t, "reader", nil),
			report.CredentialRefused, "getting Secret clusters/hosted-a-admin-kubeconfig on the management " +
				"cluster https://ADDRESS: no permission: ",
		},
		"unreachable management cluster": {
			"hosted-a --kubeconfig " + unreachable, report.Failed,
			"ADDRESS refused the connection",
		},
		"unreachable hosted cluster": {
			"hosted-a --kubeconfig " + c.admin + " --hosted-kubeconfig " + unreachable,
			report.Failed, "ADDRESS refused the connection",
		},
		"no permission in the hosted cluster": {"hosted-a --kubeconfig " + c.admin + " --hosted-kubeconfig " +
			c.hosted.kubeconfigWithoutRights(t), report.CredentialRefused, " on the hosted cluster https://ADDRESS: no " +
			"permission: "},
	} {
		t.Run(name, func(t *testing.T) {
			got := runCommandLine(t, append([]string{"controller", "install", "--wait=false", "--image", testImage},
				strings.Fields(test.args)...)...)
			if got.Code != test.code || !strings.Contains(variable(got.Err), test.want) || got.Out != "" {
				t.Errorf("code %d, %s%s", got.Code, variable(got.Err), got.Out)
			}
		})
	}
	definition := string(mustReadFile(t, "../../deploy/hosted-base/crd.yaml"))
	c.hosted.run(t, strings.ReplaceAll(definition, "v1alpha1", "v1beta1"), "create", "-f", "-")
	got := c.controller(t, "install")
	if got.Code != report.Refused || !strings.Contains(got.Err, "has CustomResourceDefinition "+
		`nodeenrollments.hcp-node-agent.io with versions "v1beta1"; this hcp-node-admin supports "v1alpha1"`) {
		t.Errorf("another version: %+v", got)
	}
	c.hosted.run(t, "", "delete", "crd", "--all")
	if after := c.state(t); after != "" {
		t.Errorf("a refused run has created\n%s", after)
	}
}

// kubeconfigWithoutRights returns a kubeconfig of a service account without permissions.
func (m *managementCluster) kubeconfigWithoutRights(t *testing.T) string {
	t.Helper()
	token := strings.TrimSpace(m.run(t, "", "-n", "default", "create", "token", "default"))
	return m.kubeconfig(t, "", func(_ *api.Cluster, user *api.AuthInfo) { *user = api.AuthInfo{Token: token} })
}

// checkDeletedHostedCluster removes the controller after the HostedCluster.
func (c *bothClusters) checkDeletedHostedCluster(t *testing.T) {
	c.requireInstalled(t)
	c.run(t, "", "-n", "clusters", "delete", "hostedcluster", "hosted-a")
	defer c.createHostedCluster(t)
	if got := c.controller(t, "uninstall"); got.Code != report.Success ||
		!strings.Contains(got.Out, "removing its controller from the management cluster") {
		t.Errorf("%+v", got)
	}
	if got := c.controller(t, "uninstall"); got.Code != report.Usage ||
		!strings.Contains(got.Err, "HostedCluster hosted-a does not exist") {
		t.Errorf("%+v", got)
	}
}
