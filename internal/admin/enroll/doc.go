// SPDX-License-Identifier: Apache-2.0

// Package enroll enrolls hosts: it writes the file of each host, which is a secret, and creates the NodeEnrollment that
// admits the host to the hosted cluster. InCluster works with the hosted cluster, Flags.Offline writes manifests.
// RevokeAll withdraws enrollments. Start reading at Cluster.Enroll.
package enroll
