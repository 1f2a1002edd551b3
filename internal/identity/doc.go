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
// This package cannot approve CSRs; package approver does.
package identity
