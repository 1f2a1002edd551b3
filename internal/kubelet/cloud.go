// SPDX-License-Identifier: Apache-2.0

package kubelet

// CloudFlags returns the values of kubelet's flags --cloud-provider and --provider-id, ""
// for a flag that is not set.
func (u UnitFiles) CloudFlags() (provider, providerID string, err error) {
	settings, err := u.parseSettings()
	if err != nil || len(settings.commands) == 0 {
		return "", "", err
	}
	words := splitWords(settings.commands[len(settings.commands)-1])
	value := func(flag string) string { return expandVariables(flagValue(words, flag), settings.environment) }
	return value("--cloud-provider"), value("--provider-id"), nil
}
