// SPDX-License-Identifier: Apache-2.0

// Package osimage gets the software of a node from the OS image of a payload.
//
// Client reads images as CRI-O pulls them on the node: through the mirrors of registries.conf, with the
// pull secret, the proxy and the CAs of the payload. It stores nothing, and starts no credential helpers.
//
// Read returns the release of an OS image without reading the operating system. Up to OpenShift 4.18 the
// image is RHEL CoreOS, and its version label names both releases. From 4.19 on it is RHEL CoreOS with one
// layer for the packages of a node (openshift/os, build-node-image.sh), and a last layer with a list of all
// packages (openshift/os, scripts/generate-metadata).
//
// Download downloads only the layer with the packages, and Driver unpacks them into a directory. The rpm
// database in the layer lists the files of each package with their digests, and each unpacked file is
// compared with it. Place puts the files at their usual paths.
//
// CheckBootable predicts from the manifest and the config whether a host in image mode can boot the image.
package osimage
