// SPDX-License-Identifier: Apache-2.0

// Package transport classifies requests that failed without a response: DNS, connection, proxy,
// TLS and certificate validity. It also has the backoff between attempts. The package sends no
// request itself. Start reading at Classify.
package transport
