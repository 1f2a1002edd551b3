package config

import "testing"

func TestOpenShiftRelease(t *testing.T) {
	for text, good := range map[string]bool{"": true, "4.18": true, "4.18.12": true, "5.0": true, "4": false, "v4.18": false, "4.18-rc": false, "four": false} {
		join := Defaults()
		join.OpenShiftRelease = text
		if wrong := join.validate(); (len(wrong) == 0) != good {
			t.Errorf("%q: %v", text, wrong)
		}
	}
}
