// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

// approvalHeading precedes the approval in the recording.
const approvalHeading = "# meanwhile, where the cluster is administered:"

// approve approves the two CSRs of the node on this host as an administrator does, by the fingerprints of their keys.
// It returns the commands and their output, with the line ends of a terminal.
func approve(ctx context.Context, s *testenv.Environment) (string, error) {
	text := approvalHeading + "\n"
	for _, signer := range []string{
		certificatesv1.KubeAPIServerClientKubeletSignerName, certificatesv1.KubeletServingSignerName,
	} {
		fingerprint, err := awaitFingerprint(ctx, s, signer)
		if err != nil {
			return "", err
		}
		args := []string{"approve", testenv.NodeName, "--fingerprint", fingerprint, "--kubeconfig"}
		output, err := exec.CommandContext(ctx, filepath.Join("bin", "hcp-node-admin"),
			append(args, s.ControlPlane.ApproverKubeconfig)...).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("approving the node: %w: %s", err, output)
		}
		command := "hcp-node-admin " + strings.Join(args, " ") + " approver.kubeconfig"
		command = strings.Replace(command, " --fingerprint", " \\\n    --fingerprint", 1)
		command = strings.Replace(command, " --kubeconfig", " \\\n    --kubeconfig", 1)
		text += command + "\n" + string(output)
	}
	return strings.ReplaceAll(text, "\n", "\r\n"), nil
}

// awaitFingerprint waits for the CSR of the node for a signer and returns the fingerprint of its key. join prints that
// of the client CSR too, abbreviated on a terminal.
func awaitFingerprint(ctx context.Context, s *testenv.Environment, signer string) (string, error) {
	for {
		list, err := s.Client.CertificatesV1().CertificateSigningRequests().List(ctx, metav1.ListOptions{})
		if err != nil {
			return "", fmt.Errorf("listing CSRs: %w", err)
		}
		for i := range list.Items {
			if list.Items[i].Spec.SignerName != signer {
				continue
			}
			block, _ := pem.Decode(list.Items[i].Spec.Request)
			if block == nil {
				return "", errors.New("the CSR is not PEM")
			}
			request, err := x509.ParseCertificateRequest(block.Bytes)
			if err != nil {
				return "", fmt.Errorf("reading the CSR: %w", err)
			}
			return enrollment.Fingerprint(request.PublicKey), nil
		}
		if err := wait.Sleep(ctx, time.Second); err != nil {
			return "", err
		}
	}
}
