// SPDX-License-Identifier: Apache-2.0

// Package packages contains the packages that a RHEL worker of an OpenShift release
// requires. It determines which packages a host lacks, which repository provides them, and
// which versions are incompatible. The table is data (table.yaml). Package
// internal/host/dnf queries and installs packages.
package packages
