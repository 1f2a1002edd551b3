// Package kubelet brings this machine's kubelet into the cluster: the name it
// will take, the identity it needs before it starts, its serving certificate,
// its health, its Node, and the way back out.
//
// Rights used, all of them ones that every node or bootstrapper has:
//   - the bootstrap credential creates one CSR, and gets and watches it by name;
//   - the node's own credential lists and watches serving CSRs, its own Node and
//     its own pods by field selector, reads its own lease and whether the Secrets
//     and ConfigMaps of these pods exist, asks by a dry run whether it may make its
//     Node, marks its own Node unschedulable, evicts its own pods, and writes
//     Events about itself.
//
// Nothing here can approve anything; that is package approver's.
package kubelet
