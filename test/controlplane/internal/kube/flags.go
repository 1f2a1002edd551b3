// SPDX-License-Identifier: Apache-2.0

package kube

import "strings"

// The servers' ports on the loopback interface of the network namespace, which no other process
// uses.
const (
	etcdURL         = "http://127.0.0.1:2379"
	etcdPeerURL     = "http://127.0.0.1:2380"
	apiLoopback     = "127.0.0.1:6443"
	kcmHealth       = "127.0.0.1:10257"
	schedulerHealth = "127.0.0.1:10259"
)

func (c Config) etcdFlags() []string {
	return []string{
		"--name=bed",
		"--data-dir=" + c.file("etcd"),
		"--listen-client-urls=" + etcdURL,
		"--advertise-client-urls=" + etcdURL,
		"--listen-peer-urls=" + etcdPeerURL,
		"--initial-advertise-peer-urls=" + etcdPeerURL,
		"--initial-cluster=bed=" + etcdPeerURL,
		"--unsafe-no-fsync", // the data is discarded with the process
		"--log-level=warn",
	}
}

func (c Config) apiserverFlags() []string {
	return []string{
		"--etcd-servers=" + etcdURL,
		"--bind-address=::",
		"--secure-port=6443",
		"--advertise-address=" + c.Stack.Address().String(),
		// On a hosted cluster the Service "kubernetes" refers to the proxy on each node, not to
		// the API server's own address.
		"--endpoint-reconciler-type=none",
		"--tls-cert-file=" + c.file("apiserver.crt"),
		"--tls-private-key-file=" + c.file("apiserver.key"),
		"--client-ca-file=" + c.file("client-ca.crt"),
		// The CA is unused, but without it the controller manager and the scheduler log an error
		// every ten seconds.
		"--requestheader-client-ca-file=" + c.file("aggregator-ca.crt"),
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--kubelet-certificate-authority=" + c.file("csr-signer.crt"),
		"--kubelet-client-certificate=" + c.file("kubelet-client.crt"),
		"--kubelet-client-key=" + c.file("kubelet-client.key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-signing-key-file=" + c.file("sa.key"),
		"--service-account-key-file=" + c.file("sa.pub"),
		"--service-cluster-ip-range=" + strings.Join(c.Stack.Services, ","),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",
		"--v=1",
	}
}

func (c Config) controllerManagerFlags() []string {
	kubeconfig := c.file("kcm.kubeconfig")
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1",
		"--leader-elect=false",
		"--controllers=*",
		// Without this flag an approved CSR never gets a certificate: the permissions of the
		// signing controller are bound to its service account.
		"--use-service-account-credentials=true",
		// With the default of 20 a second the start takes five seconds longer, because each of
		// the forty controllers first requests its service account.
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
		"--root-ca-file=" + c.file(publishedCAs),
		"--service-account-private-key-file=" + c.file("sa.key"),
		"--cluster-signing-cert-file=" + c.file("csr-signer.crt"),
		"--cluster-signing-key-file=" + c.file("csr-signer.key"),
		"--cluster-signing-duration=17520h", // as in HyperShift
		// An emulated machine on a busy host can fail to renew its lease for longer than 40 s.
		"--node-monitor-grace-period=120s",
		"--v=1",
	}
}

func (c Config) schedulerFlags() []string {
	kubeconfig := c.file("scheduler.kubeconfig")
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1",
		"--leader-elect=false",
		"--v=1",
	}
}
