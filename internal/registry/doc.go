// SPDX-License-Identifier: Apache-2.0

// Package registry reads container images as CRI-O pulls them on the node: through the mirrors of
// registries.conf, with the pull secret, the proxy and the CAs of the payload. It stores nothing, and
// starts no credential helpers.
package registry
