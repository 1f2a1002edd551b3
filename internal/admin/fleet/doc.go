// SPDX-License-Identifier: Apache-2.0

// Package fleet shows and removes the nodes of a hosted cluster: their NodeEnrollments, Nodes, CSRs and Events. It
// connects with the credential of an administrator.
package fleet
