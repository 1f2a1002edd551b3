// SPDX-License-Identifier: Apache-2.0

// Package kubelet handles the settings of the kubelet service: its unit files, the
// node name and version that follow from them, the labels and taints with which
// kubelet registers its Node, and the mounts that kubelet leaves behind. Start
// reading at NodeName and Registration.RenderDropIn.
//
// RegistrationCheck needs the node's own credential, with which it creates the Node in
// a dry run. ServerVersion works with any credential.
package kubelet
