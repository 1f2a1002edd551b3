// SPDX-License-Identifier: Apache-2.0

// Package enroll enrolls hosts: it writes the file of each host, which is a secret, and creates the NodeEnrollment that
// admits the host to the hosted cluster. Cluster.Enroll works with the hosted cluster, Offline writes manifests. Revoke
// withdraws enrollments. Start reading at Cluster.Enroll.
package enroll
