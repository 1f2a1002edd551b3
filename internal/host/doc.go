// Package host provides access to the host: files below a root, systemd,
// NetworkManager, links and routes, commands, facts. It is the only package
// that uses os/exec, D-Bus and netlink. It makes no decisions.
package host
