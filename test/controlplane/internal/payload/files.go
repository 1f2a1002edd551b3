// SPDX-License-Identifier: Apache-2.0

package payload

// file is one file of the payload; its content is files/PATH, a template.
type file struct {
	path     string
	mode     int
	encoding encoding
}

// files returns the rendered files in the order of a real 4.18 payload. The files that the
// machine-config server appends are in appended.go.
func files() []file {
	return []file{
		{"/usr/local/bin/nm-clean-initrd-state.sh", 0o755, percent},
		{"/etc/NetworkManager/conf.d/01-ipv6.conf", 0o644, percent},
		{"/etc/NetworkManager/conf.d/20-keyfiles.conf", 0o644, percent},
		{"/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt", 0o600, percent},
		{"/etc/kubernetes/apiserver-url.env", 0o644, percent},
		{"/etc/audit/rules.d/mco-audit-quiet-containers.rules", 0o644, percent},
		{"/etc/NetworkManager/dispatcher.d/99-esp-offload", 0o744, percent},
		{"/etc/tmpfiles.d/cleanup-cni.conf", 0o644, percent},
		{"/usr/local/bin/configure-ovs.sh", 0o755, percent},
		{"/etc/containers/storage.conf", 0o644, percent},
		{"/etc/docker/certs.d/.create", 0o600, percent},
		{"/etc/mco/proxy.env", 0o644, percent},
		{"/etc/systemd/system.conf.d/10-default-env-godebug.conf", 0o644, percent},
		{"/etc/systemd/system.conf.d/10-default-timeout-stop.conf", 0o644, percent},
		{"/etc/NetworkManager/dispatcher.d/99-gcp-disable-idpf-tx-checksum-off", 0o744, percent},
		{"/etc/modules-load.d/iptables.conf", 0o644, percent},
		{"/etc/node-sizing-enabled.env", 0o644, percent},
		{"/usr/local/sbin/dynamic-system-reserved-calc.sh", 0o755, percent},
		{"/etc/systemd/system.conf.d/kubelet-cgroups.conf", 0o644, percent},
		{"/etc/systemd/system/kubelet.service.d/20-logging.conf", 0o644, percent},
		{"/etc/NetworkManager/conf.d/sdn.conf", 0o644, percent},
		{"/usr/local/bin/nmstate-configuration.sh", 0o755, percent},
		{"/etc/nmstate/nmstate.conf", 0o644, percent},
		{"/etc/NetworkManager/dispatcher.d/pre-up.d/10-ofport-request.sh", 0o755, percent},
		{"/etc/machine-config-daemon/generate_podman_policy_args.sh", 0o755, percent},
		{"/var/lib/kubelet/config.json", 0o600, percent},
		{"/etc/sysctl.d/arp.conf", 0o644, percent},
		{"/etc/sysctl.d/gc-thresh.conf", 0o644, percent},
		{"/etc/sysctl.d/inotify.conf", 0o644, percent},
		{"/etc/sysctl.d/enable-userfaultfd.conf", 0o644, percent},
		{"/etc/sysctl.d/vm-max-map.conf", 0o644, percent},
		{"/usr/local/bin/mco-hostname", 0o755, percent},
		{"/etc/kubernetes/kubelet-plugins/volume/exec/.dummy", 0o755, percent},
		{"/etc/NetworkManager/dispatcher.d/99-vsphere-disable-tx-udp-tnl", 0o744, percent},
		{"/usr/local/bin/ipsec-connect-wait.sh", 0o755, percent},
		{"/usr/local/bin/wait-for-primary-ip.sh", 0o755, percent},
		{"/etc/containers/registries.conf", 0o644, percent},
		{"/etc/crio/crio.conf.d/00-default", 0o644, percent},
		{"/etc/machine-config-daemon/policy-for-old-podman.json", 0o644, percent},
		{"/etc/containers/policy.json", 0o644, percent},
		{"/etc/kubernetes/cloud.conf", 0o644, percent},
		{"/etc/kubernetes/crio-metrics-proxy.cfg", 0o644, percent},
		{"/etc/kubernetes/manifests/criometricsproxy.yaml", 0o644, percent},
		{"/etc/kubernetes/kubelet.conf", 0o644, base64MCO},
		{"/usr/local/bin/kubenswrapper", 0o755, percent},
		{"/usr/local/bin/setup-apiserver-ip.sh", 0o755, base64URL},
		{"/usr/local/bin/teardown-apiserver-ip.sh", 0o755, base64URL},
		{"/etc/kubernetes/apiserver-proxy-config/haproxy.cfg", 0o644, base64URL},
		{"/etc/kubernetes/manifests/kube-apiserver-proxy.yaml", 0o644, base64URL},
	}
}
