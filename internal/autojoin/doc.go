// SPDX-License-Identifier: Apache-2.0

// Package autojoin locates the files with which the service joins a host that has not
// joined: user data and a join token in /etc/hcp-node-agent or in the unit's systemd
// credentials. It removes them after the join and after a leave. Start reading at Files.
package autojoin
