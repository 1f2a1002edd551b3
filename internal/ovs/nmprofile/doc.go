// SPDX-License-Identifier: Apache-2.0

// Package nmprofile changes the settings of NetworkManager profiles for the stages in which br-ex takes over the
// addresses of the uplink, and describes profiles. Its functions are pure: they depend only on the settings and on the
// addresses of the host, and change neither.
package nmprofile
