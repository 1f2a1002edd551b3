// SPDX-License-Identifier: Apache-2.0

// Package identity obtains the credentials of a node: the client certificate,
// before kubelet starts, and the certificate authorities (CAs) of the cluster. It
// also follows the serving certificate, which kubelet requests itself. Start
// reading at Identity.Obtain and Serving.Obtain.
//
// Rights used, all of which every node or bootstrapper has:
//   - the bootstrap credential creates one CSR, and gets and watches it by name;
//   - the node's own credential gets its own Node and lease, and lists and watches
//     serving CSRs.
//
// ApproveOwn approves the node's own two CSRs with a credential of an administrator. The right to approve a client CSR
// equals the right to become any node. The minimal role:
//
//	apiVersion: rbac.authorization.k8s.io/v1
//	kind: ClusterRole
//	metadata: {name: hcp-node-agent-approve-own}
//	rules:
//	- apiGroups: [certificates.k8s.io]
//	  resources: [certificatesigningrequests]
//	  verbs: [get]
//	- apiGroups: [certificates.k8s.io]
//	  resources: [certificatesigningrequests/approval]
//	  verbs: [update]
//	- apiGroups: [certificates.k8s.io]
//	  resources: [signers]
//	  resourceNames: [kubernetes.io/kube-apiserver-client-kubelet, kubernetes.io/kubelet-serving]
//	  verbs: [approve]
package identity
