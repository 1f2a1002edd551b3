// SPDX-License-Identifier: Apache-2.0

package servicelog

import (
	"strings"
	"testing"
)

// The lines are those of kubelet 1.34 (1.35 for the locked feature gate), CRI-O 1.34 and systemd 252, without
// klog's prefix.
func TestFindCause(t *testing.T) {
	tests := map[string]struct{ line, want, remedy string }{
		"unit of a package": {
			line:   `kubelet.service: Failed to schedule restart job: Unit openvswitch.service not found.`,
			want:   "openvswitch.service, which it requires, does not exist on this host",
			remedy: "dnf provides '*/openvswitch.service'",
		},
		"program": {
			line:   `kubelet.service: Main process exited, code=exited, status=203/EXEC`,
			want:   "its binary cannot be executed: it is not installed, or SELinux or fapolicyd denies it",
			remedy: "ausearch",
		},
		"flag": {
			line: `"command failed" err="failed to parse kubelet flag: unknown flag: --container-runtime"`,
			want: "it does not support the flag --container-runtime of its unit: the installed kubelet does not match the " +
				"payload's release", remedy: "kubelet --version",
		},
		"feature gate": {
			line: `"command failed" err="failed to set feature gates from initial flags-based config: unrecognized ` +
				`feature gate: PodSecurity"`,
			want: "it does not support the feature gate PodSecurity of its configuration: the installed kubelet " +
				"does not match the payload's release", remedy: "kubelet --version",
		},
		"locked feature gate": {
			line: `panic: failed to merge global and in-flight KubeletConfiguration while setting defaults, error: [cannot ` +
				`set feature gate DynamicResourceAllocation to false, feature is locked to true, cannot set feature gate ` +
				`NodeSwap to false, feature is locked to true]`,
			want: "it does not support false for the feature gate DynamicResourceAllocation of its configuration: the " +
				"installed kubelet does not match the payload's release", remedy: "kubelet --version",
		},
		"configuration's version": {
			line: `"command failed" err="failed to load kubelet config file, path: /etc/kubernetes/kubelet.conf, ` +
				`error: failed to load Kubelet config file /etc/kubernetes/kubelet.conf, error failed to decode: no ` +
				`kind \"KubeletConfiguration\" is registered for version \"kubelet.config.k8s.io/v1beta9\" in scheme"`,
			want: "it does not support version kubelet.config.k8s.io/v1beta9 of its configuration: the installed kubelet does " +
				"not match the payload's release", remedy: "kubelet --version",
		},
		"setting": {
			line: `"command failed" err="failed to load kubelet config file, path: /etc/kubernetes/kubelet.conf, ` +
				`error: strict decoding error: unknown field \"memoryThrottling\""`,
			want: "it does not support the setting memoryThrottling of its configuration: the installed kubelet " +
				"does not match the payload's release", remedy: "kubelet --version",
		},
		"configuration": {
			line: `"command failed" err="failed to load kubelet config file, path: /etc/kubernetes/kubelet.conf, ` +
				`error: open /etc/kubernetes/kubelet.conf: no such file or directory"`,
			want: "it cannot use its configuration /etc/kubernetes/kubelet.conf: open /etc/kubernetes/kubelet.conf: " +
				"no such file or directory", remedy: "hcp-node-agent status",
		},
		"swap": {
			line: `"command failed" err="failed to run Kubelet: running with swap on is not supported, please ` +
				`disable swap or set --fail-swap-on flag to false"`,
			want: "swap is enabled, and this kubelet does not start with swap", remedy: "swapoff -a",
		},
		"cgroup v1": {
			line: `"command failed" err="failed to validate kubelet configuration, error: kubelet is configured to ` +
				`not run on a host using cgroup v1. cgroup v1 support is in maintenance mode, path: &TypeMeta{}"`,
			want: "this release does not support cgroup v1", remedy: "grubby",
		},
		"cgroup driver": {
			line: `"Error syncing pod, skipping" err="failed to \"CreatePodSandbox\" for \"x\": rpc error: code = ` +
				`Unknown desc = cri-o configured with systemd cgroup manager, but did not receive slice as parent: ` +
				`/kubepods/burstable/podx"`,
			want: "kubelet and CRI-O use different cgroup drivers (CRI-O's is systemd)", remedy: "crio config",
		},
		"a file of the host": {
			line: `Operation for "{volumeName:kubernetes.io/host-path/1}" failed. Error: MountVolume.SetUp failed ` +
				`for volume "etc" : hostPath type check failed: /etc/kubernetes/apiserver-url.env is not a file`,
			want:   "/etc/kubernetes/apiserver-url.env, which it mounts from this host, does not exist or is not a file",
			remedy: "hcp-node-agent status",
		},
		"a key": {
			line: `MountVolume.SetUp failed for volume "c" : references non-existent secret key: tls.crt`,
			want: "the secret that it mounts has no key tls.crt", remedy: "oc get pods",
		},
		"sysctl": {
			line: `"Failed to start ContainerManager" err="[invalid kernel flag: vm/overcommit_memory, expected ` +
				`value: 1, actual value: 0]"`,
			want: "sysctl vm/overcommit_memory is 0 and must be 1", remedy: "hcp-node-agent join",
		},
		"client CA": {
			line: `"command failed" err="failed to run Kubelet: unable to load client CA file ` +
				`/etc/kubernetes/kubelet-ca.crt: open /etc/kubernetes/kubelet-ca.crt: no such file or directory"`,
			want: "it cannot read the cluster's CA /etc/kubernetes/kubelet-ca.crt: open " +
				"/etc/kubernetes/kubelet-ca.crt: no such file or directory", remedy: "hcp-node-agent join",
		},
		"no identity": {
			line: `"command failed" err="failed to run Kubelet: unable to load bootstrap kubeconfig: stat ` +
				`/etc/kubernetes/kubeconfig: no such file or directory"`,
			want:   "it has no client certificate and no bootstrap credential (/etc/kubernetes/kubeconfig does not exist)",
			remedy: "hcp-node-agent join --user-data USER_DATA",
		},
		"port": {
			line: `"Failed to listen and serve" err="listen tcp 0.0.0.0:10250: bind: address already in use"`,
			want: "another process listens on 0.0.0.0:10250", remedy: "ss -ltnp",
		},
		"CRI-O's socket": {
			line: `"command failed" err="failed to run Kubelet: validate service connection: validate CRI v1 runtime ` +
				`API for endpoint \"unix:///var/run/crio/crio.sock\": rpc error: code = Unavailable desc = ` +
				`connection error: desc = \"transport: Error while dialing: dial unix /var/run/crio/crio.sock: ` +
				`connect: no such file or directory\""`,
			want: "CRI-O does not respond on its socket (no such file or directory)", remedy: "systemctl status crio",
		},
		"disk": {line: `time="2026-01-01T00:00:00Z" level=fatal msg="mkdir /var/lib/containers/storage: no space ` +
			`left on device"`, want: "a file system of this host is full", remedy: "df -h"},
		"not yet valid": {
			line: `"Unable to register node with API server" err="Post \"https://api:6443/api/v1/nodes\": tls: ` +
				`failed to verify certificate: x509: certificate has expired or is not yet valid: current time ` +
				`2026-01-01T00:00:00Z is before 2026-11-20T07:32:00Z"`,
			want: "this host's clock is behind: it shows 2026-01-01T00:00:00Z, but a certificate is not valid before " +
				"2026-11-20T07:32:00Z", remedy: "chronyc makestep",
		},
		"expired": {
			line: `"Failed to ensure lease exists, will retry" err="Get \"https://api:6443/x\": tls: failed to ` +
				`verify certificate: x509: certificate has expired or is not yet valid: current time ` +
				`2029-01-01T00:00:00Z is after 2028-11-20T07:32:00Z" interval="7s"`,
			want:   "a certificate expired at 2028-11-20T07:32:00Z, and this host's clock shows 2029-01-01T00:00:00Z",
			remedy: "date -u",
		},
		"DNS": {
			line: `"Failed to ensure lease exists, will retry" err="Get \"https://api.demo.example.com:6443/x\": ` +
				`dial tcp: lookup api.demo.example.com on 192.0.2.1:53: no such host" interval="7s"`,
			want:   "DNS does not resolve api.demo.example.com (192.0.2.1:53 no such host)",
			remedy: "getent ahosts api.demo.example.com; cat /etc/resolv.conf",
		},
		"labels": {
			line: `"Unable to register node with API server" err="nodes \"w\" is forbidden: is not allowed to modify ` +
				`labels: node-role.kubernetes.io/infra" node="w"`,
			want:   "the API server rejects kubelet's updates of its Node (name, labels or taints)",
			remedy: "journalctl -b -u kubelet | grep forbidden",
		},
		"401": {
			line: `"Unable to register node with API server" err="Unauthorized" node="w"`,
			want: "the API server rejects its Node: Unauthorized", remedy: "journalctl",
		},
		"API proxy on this host": {
			line: `"Failed to ensure lease exists, will retry" err="Get \"https://172.20.0.1:6443/x\": dial tcp ` +
				`172.20.0.1:6443: connect: connection refused"`,
			want: "it cannot reach the API server through kube-apiserver-proxy, the pod on this host that listens on " +
				"172.20.0.1:6443 (connection refused)", remedy: "crictl ps -a --name " +
				"'haproxy|kubernetes-default-proxy'",
		},
		"no way": {
			line: `"Failed to ensure lease exists, will retry" err="Get \"https://192.0.2.9:6443/x\": dial tcp ` +
				`192.0.2.9:6443: i/o timeout"`,
			want: "it cannot reach 192.0.2.9:6443 (i/o timeout)", remedy: "curl -kvm 20 https://192.0.2.9:6443/version",
		},
		"other CA": {
			line: `"Failed to ensure lease exists, will retry" err="Get ` +
				`\"https://api:6443/apis/coordination.k8s.io/v1/x\": tls: failed to verify certificate: x509: ` +
				`certificate signed by unknown authority"`,
			want:   "it does not trust the API server's certificate, or the API server does not trust its certificate",
			remedy: "hcp-node-agent join",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, line, known := FindCause([]string{"an older line", test.line, "a newer line without a story"},
				knownCauses)
			if !known || got.Text != test.want || line != test.line {
				t.Errorf("findCause() = %v %q\nwant %q", known, got.Text, test.want)
			}
			if !strings.HasPrefix(string(got.Remedy), test.remedy) {
				t.Errorf("remedy = %q, want %q", got.Remedy, test.remedy)
			}
		})
	}
	if len(tests) < len(knownCauses())-9 {
		t.Errorf("%d tests for %d stories", len(tests), len(knownCauses()))
	}
}

func TestExplainErrors(t *testing.T) {
	const ended = "kubelet.service: Main process exited, code=exited, status=1/FAILURE"
	for name, test := range map[string]struct {
		lines []string
		want  string
	}{
		"nothing":          {nil, ""},
		"only the end":     {[]string{ended}, "; last error: " + ended},
		"the last that is": {[]string{`"one" err="a"`, `"two" err="b"`, ended}, "; last error: two: b"},
		"every first start": {[]string{
			`"Eviction manager: failed to get summary stats" err="failed to get node info: ` +
				`getting the current node from lister: node \"w\" not found"`,
			`Failed to initialize CSINode: error updating CSINode annotation: timed out waiting for the condition`,
		}, ""},
		"the newest errors": {[]string{
			`err="Unauthorized"`,
			`"x" err="listen tcp :10250: bind: address already in use"`, `"more"`,
		}, ": another process listens on :10250"},
	} {
		if got, _ := Explain(test.lines); got != test.want {
			t.Errorf("%s: because() = %q, want %q", name, got, test.want)
		}
	}
}
