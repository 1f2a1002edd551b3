// SPDX-License-Identifier: Apache-2.0

// Package ostree implements the stand-ins for bootc and rpm-ostree, which Debian does not have. They
// change real deployments with Debian's ostree, and imitate the output, the refusals and the exit codes
// of bootc (bootc-dev/bootc, version 1.16) and rpm-ostree (coreos/rpm-ostree, version 2026.2). Comments
// name the imitated files.
//
// Not imitated: bootc's kargs.d, logically bound images, soft reboots and downloads without activation;
// rpm-ostree's packages; signatures and transports other than registry.
//
// [RunPodman] stands in for podman: it has the effects of the containers that the units of a payload run.
//
// The package also builds the images that the machine can pull; see [BaseImage].
package ostree
