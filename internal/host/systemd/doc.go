// SPDX-License-Identifier: Apache-2.0

// Package systemd reads and changes units through systemd's D-Bus interface. It is one of
// the packages that use D-Bus; networkmanager is the other.
package systemd
