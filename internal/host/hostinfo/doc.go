// SPDX-License-Identifier: Apache-2.0

// Package hostinfo gathers read-only facts of the running host: operating system, kernel,
// memory, file systems, processes, sockets. Start reading at Gather.
package hostinfo
