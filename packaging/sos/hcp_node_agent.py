# sos plugin of hcp-node-agent. It supports sos 4, Python 3.6 and later.

import os

from sos.report.plugins import Plugin, DebianPlugin, RedHatPlugin


class HcpNodeAgent(Plugin, RedHatPlugin, DebianPlugin):

    short_desc = 'Node agent for OpenShift hosted control planes'
    plugin_name = 'hcp_node_agent'
    profiles = ('openshift', 'container')
    packages = ('hcp-node-agent',)
    plugin_timeout = 900

    # The agent collects everything, including the journals of its units, because it
    # masks the secrets of this host. Do not add files or journals here: sos would
    # copy them with these secrets.
    def setup(self):
        self.bundle = os.path.join(self.get_cmd_output_path(), 'bundle.tar.gz')
        self.add_cmd_output('hcp-node-agent doctor --bundle ' + self.bundle,
                            suggest_filename='doctor', timeout=600)
        self.add_cmd_output('hcp-node-agent config show',
                            suggest_filename='config_show')

    # "sos report --clean" obfuscates text files, but removes archives.
    def postproc(self):
        if os.path.exists(self.bundle):
            self.exec_cmd('tar -xzf %s -C %s'
                          % (self.bundle, os.path.dirname(self.bundle)))
            os.remove(self.bundle)
