// SPDX-License-Identifier: Apache-2.0

// Package hostfs reads and changes files below a root directory: the running host's "/"
// or the tree of an image. Tree resolves every path below its root, does not follow
// symbolic links that an unprivileged user could have made, and replaces files by rename.
// Batch replaces many files with one sync. It makes no decisions; the ledger records
// what is changed.
package hostfs
