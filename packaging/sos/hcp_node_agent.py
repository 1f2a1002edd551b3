# sos plugin of hcp-node-agent. It supports sos 4, Python 3.6 and later.

import re

from sos.report.plugins import Plugin, DebianPlugin, RedHatPlugin

STATE = '/var/lib/hcp-node-agent'
CONFIG = '/etc/hcp-node-agent'

UNITS = ['hcp-node-agent', 'hcp-node-agent-node-ip',
         'hcp-node-agent-ovn-remote', 'hcp-node-agent-uplink-name',
         'kubelet', 'crio', 'NetworkManager', 'openvswitch', 'ovsdb-server',
         'ovs-vswitchd']

# Names whose values are secrets, such as ADMIN_PASSWORD, clientSecret and psk.
WORD = (r'[\w.-]*(?:passw(?:or)?[dt]|passphrase|passcode|mot_?de_?passe|'
        r'secret|token|psk|(?:api|access|account|activation|auth|encryption|'
        r'preshared|private|secret)[_-]?key|key-data|credentials?|auths?|'
        r'authtok|authorization|cookie|signature|[_-]pass|[_-]pw|bindpw|'
        r'pin-value|\botp|\bsig)\d*')
NAME = r'(?<![\w.-])' + WORD

# Generated from internal/redact/shapes.txt.
SHAPES = [
    (r'''((?i:authorization)\\?["']?[ \t]*[:=][ \t]*\\?["']?)[^"'\\\n]+''',
     r'\1***'),
    (r'''((?i:bearer)|Basic|Digest|Negotiate)[ \t]+[A-Za-z0-9._~+/=-]{8,}''',
     r'\1 ***'),
    (r'''((?:^|\s)(?:-u|-U|--user|--proxy-user)[ =]*["']?)[^\s:"']+:[^\s"']+''',
     r'\1***'),
    (r'''\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*''',
     r'***'),
    (r'''\bsha256~[A-Za-z0-9_-]{8,}''',
     r'***'),
    (r'''\b(?:gh[oprsu]_|github_pat_|glpat-|xox[abeprs]-|npm_|hvs\.|AKIA|ASIA)[A-Za-z0-9_-]{12,}''',
     r'***'),
    (r'''\$(?:1|2[abxy]?|5|6|7|y|gy|apr1|argon2[a-z]*|pbkdf2[a-z0-9-]*)\$[^\s:"']+''',
     r'***'),
    (r'''\{(?:SHA|SSHA)[0-9]*\}[A-Za-z0-9+/]+={0,2}''',
     r'***'),
    (r'''\bgrub\.pbkdf2\.sha512\.[0-9]+\.[^\s"']+''',
     r'***'),
    (r'''(\b(?i:token)[ \t]+["']?)(?i:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b''',
     r'\1***'),
    (r'''^([ \t]*[\w.-]*(?i:passw(?:or)?d|secret|psk|bindpw|rootpw|private-key|r[ow]community6?)[ \t]+)[^\s=:]\S*[ \t]*$''',
     r'\1***'),
    (r'''^([ \t]*rootpw(?:[ \t]+--[\w-]+)+[ \t]+)[^\s-]\S*''',
     r'\1***'),
    (r'''^([ \t]*(?:r[ow]community6?|com2sec6?[ \t]+\S+[ \t]+\S+|trap2?sink[ \t]+\S+)[ \t]+)\S+''',
     r'\1***'),
    (r'''((?i:\bcommunity)[ \t]+)[^\s=:]\S*''',
     r'\1***'),
    (r'''^([ \t]*createUser[ \t]+\S+[ \t]+(?:MD5|SHA[0-9-]*)[ \t]+)\S+([ \t]+(?:AES|DES)[ \t]+)\S+''',
     r'\1***\2***'),
    (r'''(\b(?:login|account)[ \t]+\S+[ \t]+password[ \t]+)\S+''',
     r'\1***'),
    (r'''(:[ \t]*(?:PSK|XAUTH|EAP)[ \t]+)"[^"\n]*"''',
     r'\1"***"'),
    (r'''(\b(?:802-11-wireless-security|wifi-sec|802-1x)\.[a-z0-9-]*(?:psk|password|wep-key[0-3])[ \t]+)[^\s:=]\S*''',
     r'\1***'),
    (r'''(\bsshpass[ \t]+-p[ \t]*)\S+''',
     r'\1***'),
    (r'''(\b(?:mysql|mysqldump|mysqladmin)[ \t]+(?:\S+[ \t]+)*?-p)\S+''',
     r'\1***'),
    (r'''(<[\w:.-]*(?i:passw(?:or)?d|passphrase|secret|token)>)[^<\n]+''',
     r'\1***'),
]

# Patterns of secrets in the output of other programs, and what replaces them.
# The agent masks its own output.
SECRETS = [(re.compile(pattern, re.M), mask) for pattern, mask in SHAPES]
SECRETS += [(re.compile(pattern, re.I | re.M), mask) for pattern, mask in [
    (r'-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?'
     r'(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)', r'(*** PRIVATE KEY)'),
    (r'(?<![\w./-])([a-z0-9]{6}\.)(?=\S*\d)[a-z0-9]{16}(?![\w./-])',
     r'\1***'),  # bootstrap token
    # Passwords in URLs, but not digests of images.
    (r'(://)(?:[^\s/"\'<>@:]*:[^\s"\'<>]+|[^\s/"\'<>]+)@(?!sha\d)',
     r'\1***@'),
    (r'(?<![\w.%+/@:-])[\w.%+-]+:[^\s/"\']+@(?!sha\d)(?=[\w.-])', r'***@'),
    # JSON, also inside a string.
    (r'("' + NAME + r'"\s*:\s*")(?:[^"\\\n]|\\.)+', r'\1***'),
    (r'(\\"' + NAME + r'\\"\s*:\s*\\")(?:[^"\\\n]|\\[^"\n])+', r'\1***'),
    (r'(\'' + NAME + r'\'\s*:\s*\')[^\'\n]+', r'\1***'),
    # A line of a configuration file, which can contain spaces.
    (r'^([ \t-]*' + NAME + r'[ \t]*[=:][ \t]*)[^\s{\[].*', r'\1***'),
    # Variables, quoted as a whole or the value only; --name value.
    (r'(["\']' + NAME + r'=)[^"\'\n]+', r'\1***'),
    (r'(' + NAME + r'[ \t]*[=:][ \t]*)(?:"[^"\n]*"|\'[^\'\n]*\')', r'\1***'),
    (r'(' + NAME + r'[ \t]*[=:][ \t]*)[^\s"\'{\[\\,][^\s"\',]*', r'\1***'),
    (r'(--' + WORD + r'[ \t]+)[^\s-]\S*', r'\1***'),
]]


class HcpNodeAgent(Plugin, RedHatPlugin, DebianPlugin):

    short_desc = 'Node agent for OpenShift hosted control planes'
    plugin_name = 'hcp_node_agent'
    profiles = ('openshift', 'container')
    packages = ('hcp-node-agent',)
    plugin_timeout = 900

    def setup(self):
        # Files with secrets. The files below are listed one by one, so that no
        # file of a later version is copied by mistake.
        self.add_forbidden_path([
            STATE + '/*.ign',            # user data, payload
            STATE + '/overrides.json',   # Ignition overrides
            STATE + '/next.json',        # payloads of an upgrade
            STATE + '/replaced.json',
            STATE + '/previous.json',
            STATE + '/token',            # join token
            STATE + '/ledger.log',       # profiles of NetworkManager
            STATE + '/keys',
            STATE + '/originals',
            CONFIG + '/*.ign',
            CONFIG + '/*.token',
            '/etc/kubernetes/kubeconfig',
            '/var/lib/kubelet/kubeconfig',
            '/var/lib/kubelet/config.json',
            '/var/lib/kubelet/pki',
        ])
        self.add_copy_spec([
            STATE + '/join.json',
            STATE + '/adoption.json',
            STATE + '/maintenance.json',
            STATE + '/purge.json',
            STATE + '/repairs.json',
            STATE + '/bridge.json',
            STATE + '/software.json',
            CONFIG + '/config.yaml',
            CONFIG + '/config.d/*.yaml',
            '/etc/kubernetes/kubelet.conf',
            '/etc/crio/crio.conf.d',
        ])

        for command, name, timeout in [
                ('doctor -o json', 'doctor.json', 600),
                ('status -o json', 'status.json', 120),
                ('leave --dry-run -o json', 'changes.json', 120),
                ('config show', 'config_show', 30),
                ('version', 'version', 30)]:
            self.add_cmd_output('hcp-node-agent ' + command,
                                suggest_filename=name, timeout=timeout)

        for unit in UNITS:
            self.add_journal(units=unit, boot='this', lines=5000)
        self.add_cmd_output([
            'systemctl show --no-pager --property=Id,LoadState,ActiveState,'
            'SubState,Result,UnitFileState,ActiveEnterTimestamp,NRestarts,'
            'FragmentPath,DropInPaths ' + ' '.join(UNITS),
            'systemctl cat --no-pager ' + ' '.join(UNITS),
            'ip -j -d address',
            'ip -j route show table all',
            'ip -j -6 route show table all',
            'ip -j rule',
            'ip -j -6 rule',
            'ovs-vsctl --timeout=10 show',
            'nmcli general',
            'nmcli device show',
            'nmcli connection show',
            'ls -la %s %s/keys %s' % (STATE, STATE, CONFIG),
            'ls -la /etc/kubernetes/cni/net.d /etc/cni/net.d',
            'kubelet --version',
            'crio version',
        ])
        # nmcli hides secrets unless it is told to show them.
        profiles = self.exec_cmd('nmcli -g UUID connection show')
        if profiles['status'] == 0:
            for uuid in re.findall(r'^[0-9a-f-]{36}$', profiles['output'],
                                   re.M):
                self.add_cmd_output('nmcli connection show ' + uuid)

        for name in ['kubelet-client-current', 'kubelet-server-current']:
            self.add_cmd_output('openssl x509 -noout -text -in '
                                '/var/lib/kubelet/pki/%s.pem' % name)

    def postproc(self):
        for pattern, mask in SECRETS:
            self.do_cmd_output_sub('*', pattern, mask)
            self.do_path_regex_sub('.*', pattern, mask)
