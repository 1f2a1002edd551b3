// Package resolve turns an Ignition config into one that refers to nothing
// outside itself: it merges and replaces, fetches, expands and verifies. It
// writes nothing, so that a host is only touched once all is there.
//
//	config ── merge, replace ──▶ one config ── contents ──▶ Document
//
// It does as Ignition's fetch and files stages do, with the settings (proxy,
// timeouts, certificate authorities) that Ignition would use at each point.
// What it does otherwise, and why:
//
//   - Only data, http and https are fetched; tftp, s3, arn and gs are refused by
//     name, and before anything is asked for, even where a merged config would
//     have put something else in that place.
//   - Nothing is tried for ever. Without a httpTotal, tries begin during two
//     minutes, and one transfer ends after ten, or after 30 seconds without a
//     byte. A server that is not trusted, or does not speak TLS, is not asked
//     again, nor is a proxy that refuses.
//   - An answer that is cut short is asked for again, and so are HTTP 408 and
//     429: they are no other than the failures that Ignition retries.
//   - At most ten redirects are followed, configs refer to others at most 16
//     deep and 64 in all, and a URL that leads to itself is an error.
//   - All that is decoded has at most 64 MiB together.
//   - What comes in clear (http) without a verification is warned of.
//   - A certificate authority may have text around its certificates, as the
//     bundles that clusters hand out do, but not be without one.
//   - Hashes may be written in capitals, of configs too.
//   - Duplicate certificate authorities, which several URLs can give, are named
//     once in the result.
//
// Documents and what is fetched hold secrets. No error, warning or message
// shows a content, a header, a user, a password or a query of a URL.
package resolve
