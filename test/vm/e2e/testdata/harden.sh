#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Hardens the machine as CIS benchmarks and STIGs do, as far as Debian has the same services. It takes effect at the
# next boot. Only root over the control channel of the tests, and the user admin, can log in afterwards.
set -euo pipefail

cat >/etc/sysctl.d/60-hardening.conf <<'CONF'
net.ipv4.ip_forward = 0
net.ipv6.conf.all.forwarding = 0
net.ipv4.conf.all.send_redirects = 0
net.ipv4.conf.default.send_redirects = 0
net.ipv4.conf.all.accept_source_route = 0
net.ipv4.conf.default.accept_source_route = 0
net.ipv4.conf.all.accept_redirects = 0
net.ipv4.conf.default.accept_redirects = 0
net.ipv4.conf.all.secure_redirects = 0
net.ipv4.conf.default.secure_redirects = 0
net.ipv4.conf.all.log_martians = 1
net.ipv4.conf.default.log_martians = 1
net.ipv4.conf.all.rp_filter = 1
net.ipv4.conf.default.rp_filter = 1
net.ipv4.icmp_echo_ignore_broadcasts = 1
net.ipv4.icmp_ignore_bogus_error_responses = 1
net.ipv4.tcp_syncookies = 1
net.ipv6.conf.all.accept_ra = 0
net.ipv6.conf.default.accept_ra = 0
net.ipv6.conf.all.accept_redirects = 0
net.ipv6.conf.default.accept_redirects = 0
net.core.bpf_jit_harden = 2
kernel.randomize_va_space = 2
kernel.yama.ptrace_scope = 1
kernel.kptr_restrict = 2
kernel.dmesg_restrict = 1
kernel.perf_event_paranoid = 3
kernel.unprivileged_bpf_disabled = 1
kernel.kexec_load_disabled = 1
kernel.core_pattern = |/bin/false
user.max_user_namespaces = 0
fs.suid_dumpable = 0
fs.protected_fifos = 2
fs.protected_regular = 2
fs.protected_hardlinks = 1
fs.protected_symlinks = 1
CONF

for module in cramfs freevxfs hfs hfsplus jffs2 squashfs udf usb-storage dccp sctp rds tipc atm can firewire-core; do
  printf 'install %s /bin/false\nblacklist %s\n' $module $module
done >/etc/modprobe.d/hardening.conf

# --- mount options; /var is a file system of its own
truncate -s 6G /root/var.img
mkfs.ext4 -q -E lazy_itable_init=1 /root/var.img
mount -o loop /root/var.img /mnt
cp -a /var/. /mnt/
umount /mnt
cat >>/etc/fstab <<'CONF'
/root/var.img /var ext4 loop,nosuid,nodev 0 0
tmpfs /tmp tmpfs nosuid,nodev,noexec,mode=1777 0 0
tmpfs /dev/shm tmpfs nosuid,nodev,noexec 0 0
tmpfs /run tmpfs nosuid,nodev,noexec,mode=755 0 0
/var/tmp /var/tmp none bind,nosuid,nodev,noexec 0 0
/var/log /var/log none bind,nosuid,nodev,noexec 0 0
/home /home none bind,nosuid,nodev,noexec 0 0
CONF

# --- umask of users and services
sed -i 's/^UMASK.*/UMASK 077/' /etc/login.defs
echo 'umask 077' >/etc/profile.d/umask.sh
echo 'session required pam_umask.so umask=0077' >>/etc/pam.d/common-session
mkdir -p /etc/systemd/system/service.d
printf '[Service]\nUMask=0077\n' >/etc/systemd/system/service.d/50-umask.conf

# --- limits
cat >/etc/security/limits.d/50-hardening.conf <<'CONF'
* hard core 0
* hard maxlogins 10
* hard nofile 1024
* hard nproc 512
root hard core 0
root hard nofile 1024
root hard nproc 512
root hard memlock 64
CONF

# --- sshd: one administrator. core exists, as in the images of clouds for RHEL CoreOS; the payload has keys for it.
ssh-keygen -q -t ed25519 -N '' -f /root/admin
for user in admin core; do
  useradd --create-home --shell /bin/bash $user
  install -d -m700 -o $user -g $user /home/$user/.ssh
  install -m600 -o $user -g $user /root/admin.pub /home/$user/.ssh/authorized_keys
done
cat >/etc/ssh/sshd_config.d/05-hardening.conf <<'CONF'
UsePAM yes
AllowUsers admin root@198.51.100.*
PermitRootLogin no
X11Forwarding no
AllowTcpForwarding no
AllowAgentForwarding no
PermitEmptyPasswords no
PermitUserEnvironment no
MaxAuthTries 4
LoginGraceTime 60
ClientAliveInterval 300
ClientAliveCountMax 3
Banner /etc/issue.net
Match Address 198.51.100.0/24
  PermitRootLogin prohibit-password
CONF
sshd -t
