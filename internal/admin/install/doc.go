// SPDX-License-Identifier: Apache-2.0

// Package install installs and removes the controller of hcp-node-admin: its part of the hosted cluster, and, by
// default, its part of the management cluster. The objects are those of the directory deploy. They are applied by
// server-side apply, so that a repetition changes nothing.
package install
