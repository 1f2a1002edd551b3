// SPDX-License-Identifier: Apache-2.0

// Package image applies an Ignition config to the directory tree of an image, as Ignition
// itself does. The tree either matches the config completely afterwards, or is unchanged.
//
// No machine runs from the tree before the apply has ended. An apply that was killed is rolled back from
// what it has written, whether or not the disk has it. Therefore nothing is synced, as with Ignition, and what
// comes next, such as umount(8), writes the tree to the disk. After a power failure, the image must be
// built again.
//
// Start reading at Apply.
package image
