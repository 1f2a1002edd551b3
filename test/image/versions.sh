# shellcheck shell=bash
# shellcheck disable=SC2034 # read by those who source it
# The versions of what is not a Debian package.

crio_version=v1.34.0

# Kubernetes is pinned once, in the module of the control plane's binaries.
kubernetes=${here:?}/../controlplane/hyperkube
