// SPDX-License-Identifier: Apache-2.0

// Package nodelayer gets the packages of a node from the OS image of a payload, from OpenShift 4.19 on.
// The image has one layer with them, above the operating system (openshift/os, build-node-image.sh).
// Only that layer is downloaded. The rpm database in it lists the files of each package with their
// digests, and each extracted file is compared with it.
package nodelayer
