#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gather.sh [DIRECTORY]: collect the state of the controller of hcp-node-admin and of its nodes, in DIRECTORY (/must-gather).
# It is also the program of an image for "oc adm must-gather". It reads the cluster of the current kubeconfig: run it for the
# hosted cluster, and for the management cluster if the controller runs there. NAMESPACE is the namespace of the controller.
#
# Of Secrets it writes the names, types, labels, and annotations of hcp-node-admin, never the data. No other annotation is
# written: that of "oc apply" can contain the data.
set -uo pipefail
out=${1:-/must-gather}/hcp-node-admin
namespace=${NAMESPACE:-hcp-node-admin}
selector=app.kubernetes.io/name=hcp-node-admin,app.kubernetes.io/component=controller
oc=$(command -v oc || command -v kubectl) || { echo 'gather.sh: oc is missing' >&2; exit 1; }
mkdir -p "$out" || exit 1

# get FILE ARGUMENT...: what fails is written too, for example a kind that the cluster does not have.
get() {
	local file=$1
	shift
	"$oc" "$@" >"$out/$file" 2>"$out/$file.error" || echo "gather.sh: oc $* failed: $out/$file.error" >&2
	[ -s "$out/$file.error" ] || rm -f "$out/$file.error"
}

get version.yaml version -o yaml
get nodeenrollments.yaml get nodeenrollments.hcp-node-agent.io -o yaml
get noderollouts.yaml get noderollouts.hcp-node-agent.io -o yaml
get noderemediations.yaml get noderemediations.hcp-node-agent.io -o yaml
get nodes.txt get nodes -o wide
get csrs.txt get certificatesigningrequests
get deployment.yaml get deployments -n "$namespace" -l "$selector" -o yaml
get pods.yaml get pods -n "$namespace" -l "$selector" -o yaml
get leases.yaml get leases.coordination.k8s.io -n "$namespace" -o yaml
get events.yaml get events -n "$namespace" -o yaml
get events-nodeenrollments.txt get events -n default --field-selector involvedObject.kind=NodeEnrollment -o wide
# shellcheck disable=SC2016 # the variables are those of the template
get secrets.txt get secrets -n "$namespace" -o go-template='{{range .items}}{{.metadata.name}} {{.type}} {{.metadata.creationTimestamp}}
{{range $key, $value := .metadata.labels}}  label {{$key}}={{$value}}
{{end}}{{range $key, $value := .metadata.annotations}}{{if and (ge (len $key) 18) (eq (slice $key 0 18) "hcp-node-agent.io/")}}  annotation {{$key}}={{$value}}
{{end}}{{end}}{{end}}'
for pod in $("$oc" get pods -n "$namespace" -l "$selector" -o name); do
	get "${pod#*/}.log" logs -n "$namespace" "$pod" --all-containers --timestamps
	get "${pod#*/}.previous.log" logs -n "$namespace" "$pod" --all-containers --timestamps --previous
done
echo "hcp-node-admin is in $out"
