// Package packages knows which packages a RHEL worker of an OpenShift release
// needs, and decides from what a host has what is missing, which repository has
// it, and what does not fit together. The table is data (table.yaml); looking
// and installing is internal/host/dnf's.
package packages
