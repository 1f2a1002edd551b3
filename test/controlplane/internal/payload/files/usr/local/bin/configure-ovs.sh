#!/bin/bash
# Stand-in for the script that moves the machine's uplink into br-ex. It keeps
# the one rule that others rely on: with the applied file it does nothing.
if [ -e /etc/nmstate/openshift/applied ]; then
  echo "configure-ovs: the network is configured already, nothing to do"
  exit 0
fi
touch /run/configure-ovs-ran
echo "configure-ovs: RAN WITHOUT /etc/nmstate/openshift/applied: on a real machine the uplink would have been torn down now" >&2
exit 1
