// SPDX-License-Identifier: Apache-2.0

// Package node watches this host's Node and explains why it is not Ready or not
// schedulable: facts of the cluster and of the host, from which a pure function
// derives findings. It also cordons and drains the Node and records Events about
// it. Start reading at Node.WaitReady; diagnose makes the findings from the facts.
//
// The node's own credential allows all requests: it gets and watches its own Node,
// lists its own pods, reads the cluster's CAs in their namespaces, marks its own Node
// unschedulable, evicts its own pods, and creates Events about itself.
package node
