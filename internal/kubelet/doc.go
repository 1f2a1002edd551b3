// Package kubelet joins the kubelet of this host to the cluster. It determines
// the node name, obtains the client certificate before kubelet starts, and
// follows the serving certificate, the health of kubelet and the Node. It also
// drains the node and cleans up when the host leaves the cluster.
//
// Rights used, all of which every node or bootstrapper has:
//   - the bootstrap credential creates one CSR, and gets and watches it by name;
//   - the node's own credential lists and watches serving CSRs, its own Node and
//     its own pods by field selector, reads its own lease and whether the Secrets
//     and ConfigMaps of these pods exist, checks by a dry run whether it may
//     create its Node, marks its own Node unschedulable, evicts its own pods, and
//     creates Events about itself.
//
// This package cannot approve CSRs; package approver does.
package kubelet
