// SPDX-License-Identifier: Apache-2.0

// Package approver decides which CSRs of nodes may be approved, and approves them
// with a credential that has the right to do so.
//
// Decide decides which CSRs the controller approves by the enrollments of nodes.
// Approver approves those of one node for an administrator. ExpectedNode has the
// rules for the content of a CSR. ApproveOwn is for a node that approves its own two
// CSRs.
//
// The right to approve a client CSR equals the right to become any node. The
// minimal role for approving a node's own two CSRs:
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
package approver
