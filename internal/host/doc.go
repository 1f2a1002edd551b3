// Package host is what the machine is and can do: files below a root, systemd,
// NetworkManager, links and routes, programs, facts. It is the only package
// that touches os/exec, D-Bus and netlink; it decides nothing.
package host
