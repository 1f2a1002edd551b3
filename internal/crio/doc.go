// SPDX-License-Identifier: Apache-2.0

// Package crio handles the service CRI-O: its configuration sets the release's pause
// image, the running CRI-O must use its configuration files, and StopPods stops all
// pods before a host leaves the cluster. Start reading at Config and StopPods.
package crio
