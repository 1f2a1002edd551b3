// SPDX-License-Identifier: Apache-2.0

// Package image applies an Ignition config to the directory tree of an image, as Ignition
// itself does. The tree either matches the config completely afterwards, or is unchanged.
// Start reading at Apply.
package image
