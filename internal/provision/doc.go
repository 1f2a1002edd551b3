// SPDX-License-Identifier: Apache-2.0

// Package provision brings the software of a payload to the host, for a join and an upgrade: Packages unpacks packages
// from the OS image and installs packages with dnf, and HostImage updates the image of a host that contains its
// software. Package plan decides which of them a host needs.
package provision
