// SPDX-License-Identifier: Apache-2.0

// Package clusterdirs lists the directories to which kubelet, CRI-O and the cluster's pods
// write. A join records their contents before, so that a leave can remove what was added.
package clusterdirs
