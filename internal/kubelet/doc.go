// Package kubelet handles the settings of the kubelet service: its unit files, the
// node name and version that follow from them, the labels and taints with which
// kubelet registers its Node, and the mounts that kubelet leaves behind. Start
// reading at NodeName and Registration.RenderDropIn.
//
// The node's own credential checks in a dry run whether kubelet may create its
// Node; any credential can request the version of the API server.
package kubelet
