// Package approver is the administrator's side: which CSRs may be approved,
// and approving them with a credential that may.
//
// Approver approves nodes by the claims of their tickets, or one by hand.
// Decide is the only place where it is decided which; the rules of a CSR's form
// are Want's. ApproveOwn is for a node that approves its own two CSRs.
//
// The right to approve a client CSR equals the right to become any node.
// deploy/approver-rbac.yaml has what an Approver needs on the hosted cluster. The
// least Role for approving a node's own two CSRs:
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
