// SPDX-License-Identifier: Apache-2.0

// Package osimage reads from the OS image of a payload which release it belongs to, without reading
// the operating system.
//
// Up to OpenShift 4.18 the image is RHEL CoreOS, and its version label names both releases. From 4.19
// on it is RHEL CoreOS with a layer for the node's packages, and a last layer with a list of all
// packages (openshift/os, scripts/generate-metadata).
package osimage
