// SPDX-License-Identifier: Apache-2.0

package bed

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// AdminClient is the client of a control plane's admin endpoint.
type AdminClient struct {
	url string
}

// NewAdminClient returns a client for the adminURL of a Document, for a control plane that
// another process runs.
func NewAdminClient(adminURL string) AdminClient { return AdminClient{url: adminURL} }

// State returns the requests that the Ignition server has received, and its settings.
func (s AdminClient) State(ctx context.Context) (State, error) {
	var state State
	body, err := s.do(ctx, http.MethodGet, "/state", nil)
	if err != nil {
		return state, err
	}
	if err := json.Unmarshal(body, &state); err != nil {
		return state, fmt.Errorf("decoding the state of the control plane: %w", err)
	}
	return state, nil
}

// CurrentUserData returns user data with the current token.
func (s AdminClient) CurrentUserData(ctx context.Context) ([]byte, error) {
	return s.do(ctx, http.MethodGet, "/user-data", nil)
}

// SetFaults replaces the faults. The zero value removes all of them.
func (s AdminClient) SetFaults(ctx context.Context, faults Faults) error {
	return s.put(ctx, "/faults", faults)
}

// RotateToken creates a new token. As with HyperShift, the previous token remains valid until the
// next rotation.
func (s AdminClient) RotateToken(ctx context.Context) error {
	_, err := s.do(ctx, http.MethodPost, "/token/rotate", nil)
	return err
}

// ExpireTokens invalidates all existing tokens and creates a new one.
func (s AdminClient) ExpireTokens(ctx context.Context) error {
	_, err := s.do(ctx, http.MethodPost, "/token/expire", nil)
	return err
}

// DeleteTokens invalidates all existing tokens without creating a new one.
func (s AdminClient) DeleteTokens(ctx context.Context) error {
	_, err := s.do(ctx, http.MethodPost, "/token/delete", nil)
	return err
}

// ReplacePayload makes the Ignition server serve another payload. Like the real server, it
// responds with status 500 if the payload is not a valid Ignition config.
func (s AdminClient) ReplacePayload(ctx context.Context, payload []byte) error {
	_, err := s.do(ctx, http.MethodPut, "/payload", payload)
	return err
}

// ReplacePayloadUnchecked makes the Ignition server serve payload without any check.
func (s AdminClient) ReplacePayloadUnchecked(ctx context.Context, payload []byte) error {
	_, err := s.do(ctx, http.MethodPut, "/payload?unchecked", payload)
	return err
}

// SetNetwork deploys or removes the stand-in of the network operator. Without it, a node that
// starts does not become Ready, because it has no CNI configuration. A Ready node stays Ready
// until its CRI-O restarts.
func (s AdminClient) SetNetwork(ctx context.Context, deployed bool) error {
	return s.put(ctx, "/network", Network{Deployed: deployed})
}

// RotatePullSecret makes the registry refuse the current pull secret, and returns a new one.
func (s AdminClient) RotatePullSecret(ctx context.Context) ([]byte, error) {
	return s.do(ctx, http.MethodPost, "/pull-secret/rotate", nil)
}

// PublishCAs publishes more CAs of the API server, in PEM, than the one that it uses, as before the
// rotation of its CA.
func (s AdminClient) PublishCAs(ctx context.Context, more []byte) error {
	_, err := s.do(ctx, http.MethodPut, "/published-cas", more)
	return err
}

// Reset removes the faults, restores the payload, the pull secret and the published CAs, creates a
// token if there is none, and deploys the network. It keeps the valid tokens, the log and the counters.
func (s AdminClient) Reset(ctx context.Context) error {
	_, err := s.do(ctx, http.MethodPost, "/reset", nil)
	return err
}

func (s AdminClient) put(ctx context.Context, path string, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding a request to the admin endpoint: %w", err)
	}
	_, err = s.do(ctx, http.MethodPut, path, body)
	return err
}

func (s AdminClient) do(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("querying the admin endpoint: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("querying the admin endpoint: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the response of the admin endpoint: %w", err)
	}
	if response.StatusCode/100 != 2 {
		return nil, fmt.Errorf("the admin endpoint responded %s to %s %s: %s", response.Status, method, path,
			strings.TrimSpace(string(answer)))
	}
	return answer, nil
}
