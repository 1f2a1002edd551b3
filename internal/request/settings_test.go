// SPDX-License-Identifier: Apache-2.0

package request

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
)

// A resumed join keeps the list of skipped steps.
func TestInheritSettings(t *testing.T) {
	before := joinstate.State{
		Started: time.Now(),
		Config:  config.Join{IgnitionOverrides: []string{"a"}, Payload: config.Payload{Exclude: []string{"/a"}}},
	}
	for name, test := range map[string]struct {
		config config.Join
		state  joinstate.State
		want   []string
	}{
		"first":              {config.Join{}, joinstate.State{}, nil},
		"resumed":            {config.Join{}, before, []string{"/a"}},
		"resumed, another":   {config.Join{Payload: config.Payload{Exclude: []string{"/b"}}}, before, []string{"/b"}},
		"again":              {config.Join{UserData: "user data"}, before, nil},
		"again, by endpoint": {config.Join{Endpoint: "e"}, before, nil},
	} {
		if diff := cmp.Diff(test.want, settingsOf(t, test.config, test.state).Payload.Exclude); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Every setting must be either inherited by a resumed join or specific to one run.
func TestInheritSettingsHandlesEverySetting(t *testing.T) {
	own := []string{
		"APIVersion", "Kind", "UserData", "Endpoint", "TokenFile", "CAFile", "NodePool", "ConfigHash", "ApproveWith",
		"JoinToken", "Until", "Timeout", "Repair",
	}
	var saved config.Join
	fill(reflect.ValueOf(&saved).Elem())
	before := joinstate.State{Started: time.Now(), Config: saved}
	got, plain := reflect.ValueOf(settingsOf(t, config.Defaults(), before)), reflect.ValueOf(config.Defaults())
	for i := range got.NumField() {
		name := got.Type().Field(i).Name
		want := reflect.ValueOf(saved).Field(i)
		if slices.Contains(own, name) {
			want = plain.Field(i)
		}
		if diff := cmp.Diff(want.Interface(), got.Field(i).Interface()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	other := config.Defaults()
	other.PauseImage, other.Skip = "mine", []string{"packages"}
	if c := settingsOf(t, other, before); c.PauseImage != "mine" || c.Skip[0] != "packages" {
		t.Errorf("what is said now does not count: %+v", c)
	}
}

// settingsOf returns the settings of a run with the configuration.
func settingsOf(t *testing.T, c config.Join, state joinstate.State) config.Join {
	t.Helper()
	r, err := Read(t.Context(), Options{Config: c}, state, SettingsOnly)
	if err != nil {
		t.Fatal(err)
	}
	return r.Config
}

// fill sets every field of a configuration to a non-default value.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("told")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int64:
		v.SetInt(7)
	case reflect.Slice:
		v.Set(reflect.ValueOf([]string{"told"}))
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	}
}
