// SPDX-License-Identifier: Apache-2.0

// Package selinux returns the SELinux labels that a policy defines for paths, and restores
// them. Policy uses the running host's policy for the running host, and an image's own
// policy for an image.
package selinux
