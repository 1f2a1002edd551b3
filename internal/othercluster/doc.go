// SPDX-License-Identifier: Apache-2.0

// Package othercluster finds and removes the files of a cluster on a host that the agent did not join, or of whose join
// it has no record. Start reading at Find.
package othercluster
