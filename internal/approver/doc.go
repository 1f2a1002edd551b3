// Package approver is the administrator's side: which CSRs may be approved,
// and approving them with a credential that may.
//
// The right to approve a client CSR equals the right to become any node. The
// least Role for approving a node's own two CSRs on the hosted cluster:
//
//	apiVersion: rbac.authorization.k8s.io/v1
//	kind: ClusterRole
//	metadata: {name: hcp-node-agent-approver}
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
