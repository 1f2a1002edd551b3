// SPDX-License-Identifier: Apache-2.0

// Package resolve turns an Ignition config into one that refers to nothing outside itself: it
// merges and replaces configs, and fetches, expands and verifies contents. It writes nothing, so
// that a host is changed only once everything has arrived.
//
//	config ── merge, replace ──▶ one config ── contents ──▶ Document
//
// The result is that of Ignition's fetch and files stages. Differences, with reasons:
//
//   - Configs are fetched with the proxy, timeouts and certificate authorities of the outermost
//     config, and contents with those of the merged config. Ignition also switches to the
//     settings of each config that it merges.
//   - Only data, http and https sources are fetched; tftp, s3, arn and gs are refused by name
//     before any request, even if a merged config would replace the source.
//   - Nothing is retried forever, and failures that a retry cannot overcome are not retried: see
//     package fetch. HTTP 408, HTTP 429 and truncated responses are retried as the failures that
//     Ignition retries.
//   - Configs refer to at most 64 others in all.
//   - All decoded contents together have at most 64 MiB.
//   - Contents that came by http without a verification cause a warning.
//   - A certificate authority can have text around its certificates, as in the bundles of
//     clusters. It must contain a certificate.
//   - Hashes can be written in upper case.
//   - Certificate authorities that several URLs provide are listed once in the result.
//
// Documents and contents hold secrets. No error, warning or message contains a content, a
// header, or the user, password or query of a URL.
package resolve
