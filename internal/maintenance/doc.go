// SPDX-License-Identifier: Apache-2.0

// Package maintenance updates the operating system of a joined node: it drains the node, updates the
// packages of the host, reboots it if an update requires that, and uncordons the node. Start reading at
// Steps.
package maintenance
